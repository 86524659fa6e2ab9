#include "policyforest/grow/grow.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "grow/spread.hpp"
#include "grow/tree_grower.hpp"
#include "policyforest/support/parallel.hpp"

namespace policyforest {

Forest grow(const TrainingSet& data, const GrowParameters& parameters, const Box& box, std::size_t n_threads,
            const std::atomic<bool>* cancel) {
  const RootColumns root(data, parameters.periods);
  std::vector<Tree> trees(parameters.n_trees);
  const auto grow_all = [&](auto make_grower) {
    parallel_for(trees.size(), n_threads, [&] {
      return [&, grower = std::shared_ptr(make_grower())](std::size_t k) {
        trees[k] = (*grower)(parameters.first_tree + k);
      };
    });
  };
  if (parameters.linear) {
    const Spread spread = spread_of(root, parameters.periods);
    grow_all([&] { return std::make_shared<TreeGrower<LinearModel>>(data, root, parameters, cancel, &spread); });
  } else {
    grow_all([&] { return std::make_shared<TreeGrower<ConstantModel>>(data, root, parameters, cancel); });
  }
  return Forest(std::move(trees), box);
}

}  // namespace policyforest
