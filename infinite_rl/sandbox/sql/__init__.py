"""SQL: SQLite in WebAssembly, without a file system. `build_src/sql/` has its host side in C.

guest.py    scripts, single queries and images of databases, each in a fresh instance
values.py   typed rows out of the engine's bytes, values as literals and as text
session.py  one database that is kept between the turns of a model
"""
