"""The lab's measurements: a plan, a child process that measures, results as they come."""
