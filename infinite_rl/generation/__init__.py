"""From a plan to proven rows: what `infinite_rl.generator.generate_dataset` is made of.

    plan.py        what to make: targets for each family, and the slots that fill them
    attempts.py    what to ask next: slots to attempts, and what follows a rejected one
    outcomes.py    what a thread makes of an attempt: ask, judge, prove
    judge.py       a text, parsed and scored
    run.py         hands out attempts, and is the one consumer of their outcomes
    progress.py    where a run stands, and what its calls have cost
    run_log.py     run.log: each retry, rejection and stop
    run_record.py  what it leaves in the manifest
    rescore.py     the answers of a journal, judged anew
    shards.py      a folder in parts, each written by one process
    cluster.py     the workers of a Ray cluster that fill them

A slot becomes an attempt, its completion a sample, that and its score an outcome, and an outcome
that is accepted a row: `run.py` is where they meet.
"""
