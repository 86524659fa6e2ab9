"""Settings of the property tests: 300 examples a property, the same ones in every run.

`pytest --hypothesis-profile=long` tries 5,000 new ones each.
"""

import signal
import threading

from hypothesis import HealthCheck, settings

# Jobs in the background of a shell ignore Ctrl-C, and so would the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine must not fail a test that is right, so nothing here depends on the clock.
settings.register_profile(
    "default", derandomize=True, max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("default"), derandomize=False, max_examples=5000)
settings.load_profile("default")
