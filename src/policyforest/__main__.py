"""``python -m policyforest``: the command line."""

from _policyforest_command import main

if __name__ == "__main__":
    main()
