"""A class: its folder and gradebook, engines that run many jobs and lose none, and the reports."""
