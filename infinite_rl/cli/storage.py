"""`infinite-rl storage`: files from and to S3 and the hub."""

from ..config import FilePath
from ..errors import UsageError
from .terminal import DONE, Emit, counting
from .verb import Verb


class Fetch(Verb):
    """Download a URI to the cache and print the path: s3://BUCKET/KEY, s3://BUCKET/FOLDER (as
    `storage publish` wrote it), hf:NAME[:CONFIG]:SPLIT or hf-model:NAME[@REVISION]. The same
    version is not downloaded twice. boto3's own settings apply (AWS_PROFILE, AWS_ENDPOINT_URL,
    ...).

    uri  URI to download
    out  new file or folder to copy the download to (default: leave it in the cache)

    Example: infinite-rl storage fetch s3://bucket/checkpoints/job/run_final -o model.
    """

    positional = ("uri",)

    uri: str
    out: FilePath | None = None

    def run(self, emit: Emit) -> int:
        from ..storage import Transfer, copy_to, fetch

        if self.out and self.out.exists():
            raise UsageError(f"{self.out} is there already: name a new file or folder")
        with counting("MB fetched") as count:
            path = fetch(self.uri, Transfer(on_progress=lambda done, _: count(done // 10**6)))
        if self.out:
            path = copy_to(path, self.out)
        emit({"uri": self.uri, "path": path}, str(path))
        return DONE


class Publish(Verb):
    """Upload the files of FOLDER to URI (s3://BUCKET/FOLDER/, or a local folder), verify them, and
    write a marker last: a folder without its marker is not read. Run it again after an interruption
    to resume.

    folder  folder to upload
    uri     target

    Example: infinite-rl storage publish models/qwen s3://bucket/models/qwen/.
    """

    positional = ("folder", "uri")

    folder: FilePath
    uri: str

    def run(self, emit: Emit) -> int:
        from ..storage import Transfer, publish

        with counting("MB published") as count:
            transfer = Transfer(on_progress=lambda done, _: count(done // 10**6))
            published = publish(self.folder, self.uri, transfer=transfer)
        emit({"folder": self.folder, "uri": published.uri}, published.uri)
        return DONE
