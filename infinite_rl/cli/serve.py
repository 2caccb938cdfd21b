"""`infinite-rl serve`: the rewards and the sandbox over HTTP."""

from ..serve.config import ServeConfig
from .terminal import DONE, Emit, until_signal
from .verb import Verb


class Serve(ServeConfig, Verb):
    """Serve the rewards and the sandbox over HTTP: POST /score, /run_code (as SandboxFusion),
    /openrlhf and /slime, GET /health and /metrics. The server listens on loopback. Every client
    needs the token in $INFINITE_RL_SERVE_TOKEN; if the variable is not set, a token is generated
    and printed.

    Examples: infinite-rl serve --port 8080. infinite-rl serve --host 0.0.0.0 --rewards math,coding.

    Exit code: 0 stopped by SIGTERM or Ctrl-C, 1 the port cannot be used, 2 wrong usage.
    """

    def run(self, emit: Emit) -> int:
        from ..serve.server import serve

        def on_ready(url: str, token: str) -> None:
            lines = [f"serving on {url}"]
            lines += [f"token: {token}"] if token else []
            emit({"url": url, "token": token or None}, *lines, flush=True)

        with until_signal():
            serve(self.part(ServeConfig), on_ready)
        return DONE
