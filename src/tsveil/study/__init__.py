"""Which method, which parameter: sweeps over methods and parameters, their map of risk and loss, and a recommendation. What is tried comes from the registry; no method or measure is defined here."""
