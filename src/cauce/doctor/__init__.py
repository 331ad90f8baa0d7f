"""Doctors: who watches every process, elects a leader among themselves, and has the dead and the hung started again.

No answer depends on them: names and logs see to that. They decide only how soon work goes on.
"""
