"""What `pytest -m core` holds: the main promises of each room, in less than a minute.

A line is a room, then its test files or single tests of one; what is marked `slow` is left out. A
file that is not listed is not even imported, and none that is loads torch. A promise of the first
rank is listed here; all others are not.
"""

_CORE = """
adapters: adapters tools
audit: rollouts reward_audit::test_a_sound_reward_is_not_accused
cli: cli config
dataset: ground_truth loaders rows scoring split
evaluation: evaluation
export: export
files: atomic logs
generation: attempts generator outcomes plan
inference: budget journal
launch: launch
parsing: from_outside parser
procedural: procedural_kinds
project: core names package
providers: keys providers replies
report: report
reward_functions: coding compare instruction logic math_equations math_reward programs
root: certificates estimators redact store
sandbox: engine executor javascript_channel javascript_runners python_guest python_tests
serve: protocols serving
storage: storage
tasks: instructions taxonomy
training: run_folder training_config
verification: certificate cross_tests
view: view::test_words_phrases_columns_numbers_and_filters_find_their_rows
view: view::test_hostile_rows_come_through_to_the_letter
view: view::test_only_the_path_and_this_machine_s_names_are_answered
workers: workers::test_results_come_in_order_and_unchanged
workers: workers::test_a_worker_whose_answers_nobody_took_is_not_used_again
"""
CORE = {
    f"{room}/test_{file}.py{colons}{test}"
    for room, _, entries in (line.partition(":") for line in _CORE.strip().splitlines())
    for file, colons, test in (entry.partition("::") for entry in entries.split())
}
