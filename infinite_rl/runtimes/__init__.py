"""WebAssembly runtimes: one row a language."""
