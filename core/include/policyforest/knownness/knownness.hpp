// How well each part of the space of states and actions is known (§ Exploration): kd-trees into which points are
// inserted one by one.
//
// A leaf that would hold more than nu points is split. All trees share one copy of the points; a leaf is a linked list
// of their numbers. A leaf whose points are all equal cannot be split and keeps them all. `x <= v` goes to the lower
// child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "policyforest/forest/forest.hpp"
#include "policyforest/support/random.hpp"

namespace policyforest {

enum class KnownnessForm {
  // Eq. 8: density of points in the leaf over the density in the whole box, at most 1. Splits are drawn
  // at random between the leaf's extreme points, one per dimension, and the best of them is taken.
  density,
  // Eq. 6, on the box scaled to the unit cube: points / nu / floor((n k / nu)^(1/k)) / longest side.
  // Splits are in the middle, and the dimensions take turns. A floor of 0 counts as 1.
  original,
};

struct KnownnessParameters {
  KnownnessForm form = KnownnessForm::density;
  std::size_t n_trees = 25;
  std::size_t max_points = 10;  // nu
  std::uint64_t seed = 0;
  // The density that counts as known is that of min(n, enough) points spread evenly, so that knownness saturates.
  double enough = std::numeric_limits<double>::infinity();
};

struct KnownnessLeaf {
  Box box;
  std::size_t n_points;
  double knownness;
};

class KnownnessForest {
 public:
  // The box must be finite; a dimension without width is never split and does not count as one.
  KnownnessForest(Box box, const KnownnessParameters& parameters);

  // Inserts n points of dims() numbers, in this order; one by one or all at once, the trees are the same.
  // Throws std::invalid_argument if a point lies outside of the box, before any point is inserted.
  void insert(const double* points, std::size_t n, std::size_t n_threads = 1);

  // The mean over the trees; 0 before the first point.
  double knownness(const double* point) const;
  // For n rows. Points outside of the box get the knownness of the outermost leaf.
  void knownness(const double* rows, std::size_t n, double* out, std::size_t n_threads = 1) const;

  std::size_t dims() const { return box_.dims(); }
  std::size_t n_points() const { return n_points_; }
  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_leaves() const;
  const Box& box() const { return box_; }
  std::vector<KnownnessLeaf> leaves(std::size_t tree) const;

 private:
  class Inserter;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // In a leaf, `split` holds its knownness in units of unit(), and `child` its number in `leaves`.
  struct Leaf {
    double volume;  // as a share of the whole box
    std::uint32_t n_points;
    std::uint32_t last;  // the newest of its points
    std::uint32_t turn;  // original form: the dimension whose turn it is
    bool identical;      // all points are the same
  };
  struct KdTree {
    std::vector<Node> nodes;
    std::vector<Leaf> leaves;
    std::vector<std::uint32_t> before;  // for each point, the previous point of its leaf
    RandomStream random;
  };
  double unit() const;  // the factor from a leaf's number to its knownness

  Box box_;
  KnownnessParameters parameters_;
  std::vector<std::size_t> wide_;  // the dimensions that have width
  std::vector<double> points_;
  std::size_t n_points_ = 0;
  std::vector<KdTree> trees_;
};

// Eq. 9: the value v of every leaf becomes u optimistic + (1 - u) v, u = fade (1 - knownness), where the
// knownness is taken at the centre of the leaf's box, clipped to the box of `known`.
Forest optimistic_leaves(const Forest& forest, const KnownnessForest& known, double optimistic, double fade,
                         std::size_t n_threads = 1);

}  // namespace policyforest
