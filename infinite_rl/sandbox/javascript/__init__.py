"""JavaScript in the sandbox: a program in one instance of QuickJS, its tests in another.

tokens, modules  scan the source: tokens, imports as scripts
names, runners   what the tests name: the program's functions, those of a test runner
machine          one instance: values, calls, texts
run              one run: the program, then its tests, and the messages between the two
guest            the guest: its runs, and the plain tests that it has read
typescript       the guest of TypeScript: strips the types, and runs the rest
session          one instance that is kept between the turns of a model

What the two say to each other is in `build_src/javascript/prelude/peer.js`.
"""
