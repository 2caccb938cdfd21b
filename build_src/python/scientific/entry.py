"""A Python with numpy, pandas and more, as the host calls it: once in the life of an instance.

The host has this imported, then stores the memory of the interpreter. Random numbers are seeded
at the start of each run, so none comes out of the stored memory.
"""

import gc
import importlib
import os
import sys
import warnings
import zoneinfo

import library

library.install()
# What is imported here costs no run; the rest of the archive is imported when a program asks.
_IMPORTED_WORDS = (
    "numpy numpy.testing pandas pandas.testing scipy scipy.stats scipy.optimize scipy.linalg "
    "scipy.sparse scipy.signal scipy.interpolate scipy.integrate scipy.spatial scipy.special "
    "sklearn.linear_model sklearn.preprocessing sklearn.model_selection sklearn.metrics "
    "sklearn.cluster sklearn.ensemble sklearn.decomposition sklearn.feature_extraction.text "
    "matplotlib matplotlib.pyplot seaborn PIL.Image sqlite3 dateutil.parser sympy yaml bs4"
)
IMPORTED = _IMPORTED_WORDS.split()
os.environ.update({"MPLBACKEND": "agg", "MPLCONFIGDIR": "/tmp", "HOME": "/tmp"})
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for _name in IMPORTED:
        importlib.import_module(_name)

import immortal  # noqa: E402, F401 - for `app`
import numpy as np  # noqa: E402
import wit_world  # noqa: E402

library.name_packages()
_load_tzdata = zoneinfo._common.load_tzdata  # the archive has all zones
import arrays  # noqa: E402

arrays.install()
import app  # noqa: E402
import wide  # noqa: E402

wide.install(wit_world.doubt)
zoneinfo._common.load_tzdata = _load_tzdata
# `isinstance` knows the libraries' own classes; those of plain data cross by value.
app.stand_ins._JOINED.update({*library.PACKAGES} - {"numpy", "pandas"})
for _module in (app, app.judge, app.plain):
    _module.compile = wide.compiled
_OURS = "arrays", "entry", "wide"
_seed = np.random.seed


def _run(arguments, data):
    seed = arguments["seed"]
    _seed(int.from_bytes(os.urandom(4)) if seed is None else seed % 2**32)
    stdin = arguments["stdin"].encode()
    return _world.run(arguments["code"], stdin, arguments["is_tested"], data, seed)


def _judge(arguments, data):
    seed = arguments["seed"]
    _seed(int.from_bytes(os.urandom(4)) if seed is None else seed % 2**32)
    return _world.judge(data, seed)


def _share(judge, words):
    """Let a seed of numpy that the tests set be the program's, too."""
    _share_others(judge, words)

    def seed(value=None):
        _seed(value)
        judge.bridged.append(("seed_numpy", value))

    np.random.seed = seed


_share_others, app.judge.shared.share = app.judge.shared.share, _share
app.served.Program._seed_numpy = lambda _self, value: _seed(value)


def go():
    """Do what the host asks for."""
    arguments, data = wit_world.arguments()
    for name in _OURS:
        sys.modules.pop(name, None)
    if arguments["task"] == "plan":
        names = "setup", "tests", "entry_point", "modules", "kind"
        wit_world.planned(_world.plan(*[arguments[name] for name in names]))
    else:
        ended = (_judge if arguments["task"] == "judge" else _run)(arguments, data)
        wit_world.report(ended)


_world = app.WitWorld()
wit_world.answer = _world.answer
sys.path.clear()
os.environ.clear()
gc.collect()
gc.freeze()
