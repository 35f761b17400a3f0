SUMMARY="x"
HEAP="256m"
METRICS=()
def add_options(p): pass
def run(rig,o): return []
