"""Where a submission's code runs: forks of a process that has imported everything, in a sandbox."""
