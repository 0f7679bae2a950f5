"""Which method, which parameter: sweeps over methods and parameters, their map of risk and loss, and a recommendation."""
