"""``python -m policyforest``: the command line."""

from policyforest.cli import main

if __name__ == "__main__":
    main()
