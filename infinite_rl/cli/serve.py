"""`infinite-rl serve`: the rewards and the sandbox over HTTP."""

from ..serve.config import ServeConfig
from .terminal import DONE, Emit, show_logs, until_signal
from .verb import Verb


class Serve(ServeConfig, Verb):
    """Serve the rewards and the sandbox over HTTP: POST /score, /run_code (as SandboxFusion),
    /openrlhf and /slime, GET /health and /metrics. Listens on loopback. The token of
    $INFINITE_RL_SERVE_TOKEN is needed by every client; if it is not set, one is made and printed.

    Examples: infinite-rl serve --port 8080. infinite-rl serve --host 0.0.0.0 --rewards math,coding.

    Exit code: 0 stopped by SIGTERM or Ctrl-C, 1 the port cannot be used, 2 wrong usage.
    """

    def run(self, emit: Emit) -> int:
        from ..serve.server import serve

        show_logs()

        def on_ready(url: str, token: str) -> None:
            lines = [f"serving on {url}"]
            lines += [f"token: {token}"] if token else []
            emit({"url": url, "token": token or None}, *lines, flush=True)

        with until_signal():
            serve(self.part(ServeConfig), on_ready)
        return DONE
