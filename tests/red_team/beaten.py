"""Where the red team finds more than the report says: case and rung -> both rates. An entry goes when the product has an attack that is as good."""

from __future__ import annotations

from collections.abc import Mapping

BEATEN: Mapping[str, str] = {
    "mic1d(kappa=1500) skewed-1000 person": "sides finds 49.8 %, the report says 46.1 %: at 99.9 % at least 0.8 points more",
    "projected() census-whole person": "rebuilt_projection finds 7.0 %, the report says 3.3 %: at 99.9 % at least 2.7 points more",
    "noise(sd=0.4,correlated=False) census-whole part": "likeliest_noise_rare_row finds 5.7 %, the report says 4.8 %: at 99.9 % at least 0.2 points more",
    "noise(sd=0.4,correlated=True) census-whole part": "likeliest_noise_rare_row finds 7.1 %, the report says 6.1 %: at 99.9 % at least 0.2 points more",
    "noise(sd=0.4,correlated=True) census-whole person": "likeliest_noise_rare_row finds 16.8 %, the report says 14.7 %: at 99.9 % at least 0.4 points more",
    "nlk(n=1,l=3,k=30) walks-4 person": "sides finds 97.5 %, the report says 90.1 %: at 99.9 % at least 1.9 points more",
    "nlk(n=1,l=3,k=30) walks-4 share": "matched_sides finds 97.5 %, the report says 92.9 %: at 99.9 % at least 0.2 points more",
    "projected() walks-24 share": "fitted_borders finds 16.8 %, the report says 11.8 %: at 99.9 % at least 3.1 points more",
    "projected() census person": "rebuilt_projection finds 10.8 %, the report says 7.7 %: at 99.9 % at least 1.0 points more",
    "projected() census share": "fitted_borders finds 12.8 %, the report says 7.7 %: at 99.9 % at least 3.2 points more",
    "projected(projection=zscores) census share": "fitted_borders finds 15.5 %, the report says 5.7 %: at 99.9 % at least 7.9 points more",
    "mic1d(kappa=400) skewed person": "sides finds 64.9 %, the report says 58.6 %: at 99.9 % at least 0.3 points more",
    "mic1d(kappa=400) skewed share": "matched_sides finds 72.1 %, the report says 58.6 %: at 99.9 % at least 7.0 points more",
    "noise(sd=0.25,correlated=True) skewed part": "likeliest_noise_rare_row finds 21.1 %, the report says 19.1 %: at 99.9 % at least 0.4 points more",
    "noise(sd=0.25,correlated=True) skewed person": "likeliest_noise_rare_row finds 40.4 %, the report says 36.7 %: at 99.9 % at least 0.8 points more",
    "noise(sd=0.5,correlated=False) walks-24 part": "likeliest_noise_far_row finds 64.8 %, the report says 51.7 %: at 99.9 % at least 5.4 points more",
    "noise(sd=0.5,correlated=False) walks-24 person": "likeliest_noise_far_row finds 87.3 %, the report says 51.7 %: at 99.9 % at least 27.9 points more",
    "noise(sd=0.5,correlated=False) walks-24 share": "matched_far_noise finds 91.7 %, the report says 65.7 %: at 99.9 % at least 19.4 points more",
    "noise(sd=0.5,correlated=False) walks-24 file": "matched_noise finds 99.3 %, the report says 88.0 %: at 99.9 % at least 6.7 points more",
    "noise(sd=2.0,correlated=True) walks-24 part": "likeliest_noise_far_row finds 18.5 %, the report says 9.2 %: at 99.9 % at least 4.4 points more",
    "noise(sd=2.0,correlated=True) walks-24 person": "likeliest_noise_far_row finds 32.8 %, the report says 9.2 %: at 99.9 % at least 17.1 points more",
    "noise(sd=2.0,correlated=True) walks-24 share": "matched_far_noise finds 32.0 %, the report says 19.2 %: at 99.9 % at least 6.7 points more",
    "noise(sd=2.0,correlated=True) walks-24 file": "matched_noise finds 36.5 %, the report says 30.3 %: at 99.9 % at least 2.2 points more",
    "noise(sd=0.5,correlated=False) census part": "likeliest_noise_rare_row finds 10.9 %, the report says 8.5 %: at 99.9 % at least 0.5 points more",
    "noise(sd=0.5,correlated=True) census part": "likeliest_noise_far_row finds 12.1 %, the report says 9.8 %: at 99.9 % at least 0.3 points more",
    "kp() walks-24 person": "likeliest_envelope finds 23.2 %, the report says 19.3 %: at 99.9 % at least 2.4 points more",
    "kp() walks-24 share": "matched_envelopes finds 23.2 %, the report says 19.3 %: at 99.9 % at least 2.4 points more",
    "kp(k=6,P=2) walks-8 person": "most_touched_envelope finds 39.6 %, the report says 32.9 %: at 99.9 % at least 4.2 points more",
    "kp(k=6,P=2) walks-8 share": "matched_envelopes finds 39.4 %, the report says 32.9 %: at 99.9 % at least 4.1 points more",
    "kp(round_to=0.5) walks-8 person": "most_touched_envelope finds 17.7 %, the report says 13.5 %: at 99.9 % at least 2.2 points more",
    "kp(round_to=0.5) walks-8 share": "matched_envelopes finds 18.3 %, the report says 13.5 %: at 99.9 % at least 2.6 points more",
    "mdav persons told person": "one_answer_for_all finds 23.2 %, the report says 20.8 %: at 99.9 % at least 1.1 points more",
    "mdav persons told file": "one_answer_for_all finds 25.0 %, the report says 24.8 %: at 99.9 % at least 0.0 points more",
}
