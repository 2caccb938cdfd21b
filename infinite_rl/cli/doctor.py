"""`infinite-rl doctor` and `run-examples`: check the installation."""

import time
from textwrap import wrap

from ..errors import UsageError
from .terminal import DONE, NOT_DONE, Emit, note, one_line
from .verb import Verb

_WIDTH = 80


class Doctor(Verb):
    """Check this installation: packages, extras, sandboxes (compiled, and tried), GPU and keys. The
    values of keys are not shown.

    online   also check that Gemini, OpenAI and the hub answer
    warm_up  instead, compile these sandboxes into the cache ($INFINITE_RL_CACHE, else the user's
             cache folder): all, or languages such as python,javascript

    Examples: infinite-rl doctor --online. infinite-rl doctor --warm_up all.

    Exit code: 0 all required parts work, 1 a part is broken, 2 wrong usage. Extras, keys and GPUs
    may be absent.
    """

    json_form = "one JSON object per line"

    online: bool = False
    warm_up: str = ""

    def run(self, emit: Emit) -> int:
        from ..doctor import findings

        if self.warm_up:
            return self._warm_up(emit)
        code = DONE
        for finding in findings(self.online):
            if finding.state == "broken":
                code = NOT_DONE
            todo = [f"{'':<8}{'':<25}-> {finding.todo}"] if finding.todo else []
            head = f"{finding.state:<8}{finding.part:<25}"
            lines = wrap(
                one_line(finding.message),
                _WIDTH,
                initial_indent=head,
                subsequent_indent=" " * len(head),
                break_long_words=False,
                break_on_hyphens=False,
            )
            emit(finding, *(lines or [head]), *todo, flush=True)
        return code

    def _warm_up(self, emit: Emit) -> int:
        from ..sandbox.compiled import is_compiled, load_compiled
        from ..sandbox.engine import Code
        from ..sandbox.runtimes import (
            RUNTIMES,
            is_installed,
            load_guest,
            runtime_file,
            runtime_named,
        )

        if self.online:
            raise UsageError("--online does not go with --warm_up")
        names = [] if self.warm_up == "all" else self.warm_up.lower().split(",")
        code = DONE
        built = [each for each in RUNTIMES if each.is_built]
        every = [each for each in built if is_installed(each) or not each.install]
        for runtime in [runtime_named(name.strip()) for name in names] or every:
            if runtime.package:  # nothing to compile here, but it may build a library
                runtime_file(runtime)
                load_guest(runtime)
                emit({"runtime": runtime.name}, f"{runtime.name}: ready", flush=True)
                continue
            # `generate` counts the instructions of Python, whose file is compiled again for that,
            # in up to a minute.
            for kind in (Code.OPTIMISED, *[Code.METERED] * (runtime.name == "python")):
                name = runtime.name + ", counting instructions" * (kind is Code.METERED)
                compiled, began = is_compiled(runtime, kind), time.monotonic()
                load_compiled(runtime, kind)
                seconds = time.monotonic() - began
                line = f"{name}: compiled in {seconds:.1f} seconds"
                if compiled:
                    line = f"{name}: already compiled, loaded in {seconds:.2f} seconds"
                elif not is_compiled(runtime, kind):
                    note(f"{name}: compiled, but it cannot be kept")
                    code = NOT_DONE
                    continue
                values = {"runtime": runtime.name, "counts_instructions": kind is Code.METERED}
                values |= {"was_compiled": compiled, "seconds": seconds}
                emit(values, line, flush=True)
        return code


class RunExamples(Verb):
    """Score the packaged examples with the real rewards and sandboxes.

    Example: infinite-rl run-examples.

    Exit code: 0 all pass, 1 one does not, 2 wrong usage.
    """

    config_file = ""

    def run(self, emit: Emit) -> int:
        from ..generation.examples import is_pass, judged, run_examples

        if not emit.json:
            return DONE if run_examples() else NOT_DONE
        examples = [(name, score, is_pass(score)) for name, score in judged()]
        values = [{"example": name, "passed": ok, "score": score} for name, score, ok in examples]
        emit({"examples": values})
        return DONE if examples and all(ok for _, _, ok in examples) else NOT_DONE
