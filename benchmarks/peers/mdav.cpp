// MDAV as an explicit-vector loop on one thread: the yardstick of benchmarks/mdav.py.
//
// The same definition and the same sums as tsveil's: squared differences are added in the order of the columns, the record of the
// lowest index wins a tie, so the labels must be equal. Eight records stand side by side in a vector; a removed record is overwritten
// by the last one.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace {

constexpr int LANES = 32;  // four vectors of eight: enough to hide the latency of an addition
typedef double vec __attribute__((vector_size(64)));

struct Loop {
    std::int64_t n, columns;
    std::vector<double> memory;
    double *tiles;
    std::vector<std::int64_t> ids, where;
    std::vector<double> away;

    Loop(const double *z, std::int64_t rows, std::int64_t width) : n(rows), columns(width), ids(rows), where(rows) {
        std::int64_t count = (n + LANES - 1) / LANES;
        memory.assign(count * columns * LANES + 8, std::numeric_limits<double>::quiet_NaN());
        auto start = reinterpret_cast<std::uintptr_t>(memory.data());
        tiles = memory.data() + (64 - start % 64) % 64 / 8;
        away.resize(count * LANES);
        for (std::int64_t i = 0; i < n; i++) {
            ids[i] = where[i] = i;
            for (std::int64_t j = 0; j < columns; j++) at(i, j) = z[i * columns + j];
        }
    }

    double &at(std::int64_t i, std::int64_t j) { return tiles[(i / LANES * columns + j) * LANES + i % LANES]; }

    void measure(const double *from) {
        for (std::int64_t tile = 0; tile * LANES < n; tile++) {
            const double *row = tiles + tile * columns * LANES;
            vec a{}, b{}, c{}, d{};
            for (std::int64_t j = 0; j < columns; j++, row += LANES) {
                const vec *x = reinterpret_cast<const vec *>(row);
                vec q = from[j] - vec{};
                vec s = x[0] - q, t = x[1] - q, u = x[2] - q, v = x[3] - q;
                a += s * s;
                b += t * t;
                c += u * u;
                d += v * v;
            }
            vec sums[4] = {a, b, c, d};
            std::memcpy(&away[tile * LANES], sums, sizeof sums);
        }
    }

    void remove(std::int64_t record) {
        std::int64_t i = where[record], last = n - 1;
        for (std::int64_t j = 0; j < columns; j++) at(i, j) = at(last, j);
        ids[i] = ids[last];
        where[ids[i]] = i;
        n = last;
    }

    std::int64_t farthest() const {
        double best = -1;
        std::int64_t found = -1;
        for (std::int64_t i = 0; i < n; i++)
            if (away[i] > best || (away[i] == best && ids[i] < found)) best = away[i], found = ids[i];
        return found;
    }
};

}  // namespace

extern "C" void mdav(const double *z, std::int64_t n, std::int64_t columns, std::int64_t k, std::int64_t *labels) {
    Loop loop(z, n, columns);
    std::vector<double> total(columns), centre(columns);
    for (std::int64_t i = 0; i < n; i++)
        for (std::int64_t j = 0; j < columns; j++) total[j] += z[i * columns + j];
    std::vector<std::pair<double, std::int64_t>> near;
    std::int64_t label = 0;
    while (loop.n > 0) {
        if (loop.n < 2 * k) {
            for (std::int64_t i = 0; i < loop.n; i++) labels[loop.ids[i]] = label;
            return;
        }
        bool pair = loop.n >= 3 * k;
        for (std::int64_t j = 0; j < columns; j++) centre[j] = total[j] / loop.n;
        loop.measure(centre.data());
        std::int64_t seed = loop.farthest();
        for (int turn = 0; turn < (pair ? 2 : 1); turn++) {
            loop.measure(z + seed * columns);
            // the seed first, then its k-1 nearest, in a heap with the farthest of them on top
            near.clear();
            double limit = std::numeric_limits<double>::infinity();
            for (std::int64_t i = 0; i < loop.n; i++) {
                if (loop.away[i] > limit || loop.ids[i] == seed) continue;
                std::pair<double, std::int64_t> found{loop.away[i], loop.ids[i]};
                if (static_cast<std::int64_t>(near.size()) == k - 1) {
                    if (k == 1 || found > near.front()) continue;
                    std::pop_heap(near.begin(), near.end());
                    near.pop_back();
                }
                near.push_back(found);
                std::push_heap(near.begin(), near.end());
                if (static_cast<std::int64_t>(near.size()) == k - 1) limit = near.front().first;
            }
            std::vector<std::int64_t> group{seed};
            for (auto &entry : near) group.push_back(entry.second);
            std::sort(group.begin(), group.end());
            for (std::int64_t record : group) labels[record] = label;
            std::int64_t other = -1;
            if (pair && turn == 0) {
                double best = -1;
                for (std::int64_t i = 0; i < loop.n; i++) {
                    if (labels[loop.ids[i]] == label) continue;
                    if (loop.away[i] > best || (loop.away[i] == best && loop.ids[i] < other))
                        best = loop.away[i], other = loop.ids[i];
                }
            }
            for (std::int64_t record : group) {
                for (std::int64_t j = 0; j < columns; j++) total[j] -= z[record * columns + j];
                loop.remove(record);
            }
            label++;
            seed = other;
        }
    }
}
