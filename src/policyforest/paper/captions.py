"""What each figure shows, and what its bars are: for the captions of the report."""

CURVE = (
    "Mean return over policies, each learned from its own samples: at the paper's settings, and (black) by our "
    "defaults. Bars: the 95% interval of the mean (bootstrap; of fewer than ten policies Student's). Dashed: "
    "the limit."
)
ONLINE = (
    "How many policies (a logarithm) have which return. Thick: the mean of the trials, its 95% interval a band; thin: "
    "the best and the worst policy; dotted: the paper; dashed: the limit."
)

CAPTIONS = {
    "figure-pendulum-6kg": CURVE,
    "figure-pendulum-8kg": CURVE,
    "figure-double-integrator": CURVE,
    "figure-car-on-the-hill": (
        "How many policies of each method take so many steps. Grey: where 95% of the paper's policies lie. Dashed: "
        "the limit."
    ),
    "figure-evaluation-time": (
        "Medians over policies of the time of an action, called from Python, times 200; on one thread. Bars: where "
        "90% of the policies lie."
    ),
    "figure-learning-time": ("Medians over policies, on one thread. Bars: where 90% of the policies lie."),
    "figure-online-pendulum": ONLINE,
    "figure-online-swing-up": ONLINE,
    "figure-swing-up-episodes": (
        "Of all evaluation episodes of all policies, the one with the highest and the lowest return."
    ),
    "figure-tree-merge": ("The average is computed by the core from the two trees above."),
    "figure-exploration": (
        "Left: a circle a trial, the mean of its ten policies; a square and its bar, the mean of the trials and its "
        "95% interval. Right: the episodes while exploring, median and quartiles of the trials, smoothed over "
        "seven. Dashed: the limit."
    ),
    "figure-sac": (
        "Above: the mean over seeds and its 95% interval. Below: medians over seeds, after the last point of each "
        "curve; seconds with those of the environment's steps. SAC has the defaults of its library, on one thread; "
        "our defaults were chosen on these problems, among others."
    ),
}
