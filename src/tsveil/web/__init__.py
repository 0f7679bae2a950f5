"""The web app: from a file to a release without a line of code, on this computer only.

`serve` starts it; `gate` decides who may talk to it; `pages` shows the six steps; `jobs` runs the long work in other processes
(`work`); `studies` keeps what was found in a private folder. Only this package knows HTTP.
"""
