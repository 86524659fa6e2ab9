"""The content of each figure and the meaning of its bars, for the captions of the report."""

CURVE = (
    "Mean return over policies, each learned from its own samples: with the paper's settings, and (black) with our "
    "defaults. Bars: the 95% interval of the mean (bootstrap; Student's t for fewer than ten policies). Dashed line: "
    "the limit."
)
ONLINE = (
    "Number of policies (logarithmic) over the return. Thick line: the mean of the trials, with its 95% interval as a "
    "band; thin lines: the best and the worst policy; dotted: the paper; dashed: the limit."
)

CAPTIONS = {
    "figure-pendulum-6kg": CURVE,
    "figure-pendulum-8kg": CURVE,
    "figure-double-integrator": CURVE,
    "figure-car-on-the-hill": (
        "Number of policies of each method over their steps. Grey: the range of 95% of the paper's policies. Dashed "
        "line: the limit."
    ),
    "figure-evaluation-time": (
        "Medians over policies of the time per action, called from Python, times 200; on one thread. Bars: the range "
        "of 90% of the policies."
    ),
    "figure-learning-time": ("Medians over policies, on one thread. Bars: the range of 90% of the policies."),
    "figure-online-pendulum": ONLINE,
    "figure-online-swing-up": ONLINE,
    "figure-swing-up-episodes": (
        "Of all evaluation episodes of all policies, those with the highest and the lowest return."
    ),
    "figure-tree-merge": ("The average is computed by the core from the two trees above."),
    "figure-exploration": (
        "Left: each circle is a trial, the mean of its ten policies; squares with bars are the mean of the trials and "
        "its 95% interval. Right: the returns of episodes while exploring, as median and quartiles of the trials, "
        "smoothed over seven episodes. Dashed line: the limit."
    ),
    "figure-sac": (
        "Above: the mean over seeds and its 95% interval. Below: medians over seeds, after the last point of each "
        "curve; seconds include the environment's steps. SAC has the defaults of its library, on one thread; "
        "our defaults were chosen on these problems, among others."
    ),
}
