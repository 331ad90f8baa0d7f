"""Doctors are the supervisors: they monitor every process, elect a leader, and restart crashed or hung processes.

Correctness never depends on them, only the time to recover: record identities and logs guarantee the answers.
"""
