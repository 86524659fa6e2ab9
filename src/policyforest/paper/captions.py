"""The content of each figure and the meaning of its bars, for the captions of the report."""

CURVE = (
    "Mean return of the policies against the number of training episodes. Each policy is learned from its own samples. "
    "Black curve: our defaults. BAS: settings that we chose. Other curves: the paper's settings. Bars: the 95% "
    "interval of the mean (bootstrap; Student's t for fewer than ten policies). Dashed line: the limit."
)
ONLINE = (
    "Number of policies (logarithmic axis) against the return. Thick line: the mean of the trials, with its 95% "
    "interval as a band. Thin lines: the best and the worst policy. Dotted line: the paper. Dashed line: the limit."
)

CAPTIONS = {
    "figure-pendulum-6kg": CURVE,
    "figure-pendulum-8kg": CURVE,
    "figure-double-integrator": CURVE,
    "figure-car-on-the-hill": (
        "Number of policies of each method against the number of steps to the top. Grey: the range of 95% of the "
        "paper's policies. Dashed line: the limit."
    ),
    "figure-evaluation-time": (
        "The time per action, called from Python on one thread, multiplied by 200: the median over the policies. Bars: "
        "the range of 90% of the policies."
    ),
    "figure-learning-time": (
        "The learning time on one thread: the median over the policies. Bars: the range of 90% of the policies."
    ),
    "figure-online-pendulum": ONLINE,
    "figure-online-swing-up": ONLINE,
    "figure-swing-up-episodes": (
        "The episodes with the highest and with the lowest return, of all evaluation episodes of all policies."
    ),
    "figure-tree-merge": ("Above: two trees. Below: their average, computed by the core."),
    "figure-exploration": (
        "Left: each circle is the mean of the ten policies of a trial; squares with bars are the mean of the trials "
        "and its 95% interval. Right: the returns of the episodes during exploration, as the median and the quartiles "
        "of the trials, smoothed over seven episodes. Dashed line: the limit."
    ),
    "figure-sac": (
        "Above: the mean return over seeds and its 95% interval. Below: medians over seeds, after the last point of "
        "each curve; the seconds include the environment's steps. SAC runs with the defaults of its library, on one "
        "thread. Our defaults were chosen on these problems, among others."
    ),
}
