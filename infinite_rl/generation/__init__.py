"""From a plan to verified rows: the implementation of `infinite_rl.generator.generate_dataset`.

    plan.py        options, targets per family, and the slots of each shard
    planner.py     what to request next: samples, their ideas, their drafts
    ideas.py       lists of ideas, and which of them are new
    seeds.py       rows and documents to make tasks from, and the operators
    attempts.py    one attempt: the request, the judgement and the checks of a row
    band.py        a pass rate inside of a band, and the level to ask for
    rubric.py      a judge's marks
    run.py         a run in this process: hands out attempts and settles outcomes
    progress.py    the record of a run: progress, run.log, run.json
    solutions.py   the learner's attempts, in solutions.jsonl
    ray.py         a run on a Ray cluster, whose workers fill the shards of a folder
    rescore.py     the completions of a journal, judged again

    novelty.py     keeps out repeats of earlier tasks; the number of distinct tasks
    sketches.py    what two rows are compared by, and the verdict
    masking.py     words, calculations and programs up to their names and numbers

    examples.py    the packaged examples, judged: does this installation work?

A slot becomes an attempt, its completion a sample, that and its score an outcome, and an accepted
outcome a row.
"""
