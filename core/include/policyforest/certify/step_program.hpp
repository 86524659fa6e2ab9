// One control step of a system as a list of elementary operations, run on numbers or on affine forms.
//
// Inputs are the state, the actions and the disturbances, in this order. An operation reads the results of earlier
// ones, so the list has no loops. Formulas, the equations of the benchmark problems and learned models are compiled to
// such a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "policyforest/certify/affine.hpp"
#include "policyforest/certify/forest_bounds.hpp"

namespace policyforest {

enum class Operation : std::int32_t {
  kConstant,
  kInput,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kPower,
  kSine,
  kCosine,
  kTangent,
  kExponential,
  kLogarithm,
  kHyperbolicTangent,
  kArcTangent,
  kAbsolute,
  kMinimum,
  kMaximum,
  kSign,
  kLess,
  kLessEqual,
  kEqual,
  kAnd,
  kOr,
  kNot,
  kSelect,
  kWrap,
  kForest,
  kCount
};

struct Instruction {
  Operation operation;
  std::int32_t a, b, c;  // earlier instructions; kInput: a is its number; kForest: a is the forest's number
  double value;          // kConstant: the number; kPower: the exponent
};

// A forest within a program: its inputs are first clipped to the forest's box. For an angle the box is one turn, and
// the angle is moved into it by whole turns instead.
struct ProgramForest {
  std::shared_ptr<const Forest> forest;
  std::vector<std::int32_t> inputs;
  std::vector<bool> angles;
};

class StepProgram {
 public:
  // Throws std::invalid_argument if an instruction reads an input, a forest or a result that does not exist.
  StepProgram(std::size_t n_inputs, std::vector<Instruction> instructions, std::vector<ProgramForest> forests,
              std::vector<std::int32_t> outputs);

  std::size_t n_inputs() const { return n_inputs_; }
  std::size_t n_outputs() const { return outputs_.size(); }
  const std::vector<ProgramForest>& forests() const { return forests_; }

  struct Room {
    std::vector<double> forms, sides, slopes;
    ForestBounds::Room forest;
  };
  // `inputs` holds one form per input. The forms of the outputs are written to room.forms, at output(i) * width.
  void bound(const AffineArithmetic& arithmetic, const double* inputs, Room& room) const;
  std::size_t output(std::size_t i) const { return static_cast<std::size_t>(outputs_[i]); }
  // The same on rows of numbers.
  void run(const double* rows, std::size_t n, double* outputs, std::vector<double>& room) const;

 private:
  void bound_one(const AffineArithmetic& arithmetic, const Instruction& step, const double* inputs, double* z,
                 Room& room) const;
  void bound_logic(const AffineArithmetic& arithmetic, const Instruction& step, const double* x, const double* y,
                   const double* w, double* z) const;
  void bound_forest(const AffineArithmetic& arithmetic, const ProgramForest& forest, double* z, Room& room) const;
  void run_block(const Instruction& step, const double* rows, std::size_t n, const double* values, double* z) const;
  void run_forest(const ProgramForest& used, std::size_t n, const double* values, double* z) const;

  std::size_t n_inputs_;
  std::vector<Instruction> instructions_;
  std::vector<ProgramForest> forests_;
  std::vector<std::int32_t> outputs_;
};

}  // namespace policyforest
