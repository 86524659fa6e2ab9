"""Pictures and pages about what was learned. matplotlib is imported when a picture is made."""
