"""Alignment record linkage (A-RL): microaggregation of a single column keeps its order, so its sorted values can be undone.

Groups of one column are runs of its sorted values, and their means come in the same order. The j-th smallest released value is
therefore the mean of the run that holds the j-th smallest original one: sorted next to each other the columns are aligned,
and the released records that an original value may have become are those with the centroid at its position. Equal original
values may fall into several runs: such a value may have become every centroid that its positions touch. With several
known attributes the possible records are the intersection

    x' in the intersection over j of { x' : x'_j is a centroid at a position of x_j }

**If a single one is left, the link is certain**; otherwise the nearest is taken. Two or three attributes often suffice to undo the
protection almost completely.

`align` says how the columns are aligned:

    counts      the released column tells how long each run is: position by position (default for files of equal size)
    runs        run lengths k..2k-1 only are known, and the runs are those of least squared distance to the centroids, by
                dynamic programming over centroids and positions, as in [1]_ (dynamic time warping with constraints); a centroid
                that occurs more than 2k-1 times stands for several runs. The printed attack; it needs k
    neighbours  the largest centroid <= x and the smallest >= x, farther ones for values that occur more than once: no farther
                than the farther of these two. For files that do not hold the same people

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, On the disclosure risk of multivariate microaggregation, Data and Knowledge
   Engineering 67 (2008) 399-412.
.. [2] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), section 4.2.

Examples
--------
>>> import polars as pl, tsveil as tv
>>> frame = pl.DataFrame({"a": [1.0, 2, 3, 6, 7, 8, 9], "b": [4.0, 15, 5, 17, 6, 18, 16]})
>>> data = tv.Dataset.from_frame(frame, blocks={"all": ["a", "b"]})
>>> groups = [[2, 2, 2, 6.5, 6.5, 8.5, 8.5], [5, 15.5, 5, 17.5, 5, 17.5, 15.5]]
>>> tv.attack.alignment(data, data.with_values(pl.DataFrame(groups).to_numpy()))
Links: alignment linkage, 2 attributes known: 6.0 of 7 records re-identified (85.7 %), 5 with certainty
"""
