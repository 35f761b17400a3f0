"""From files to work items on the queue: ``intake.py`` queues one file, ``master.py`` all files that appear in folders,
``load.py`` those that a user names; ``sniff.py`` tells their formats."""
