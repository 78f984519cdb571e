// Decides which instructions of a computation become int8, before anything is calibrated or changed.
//
//   Plan plan = MakePlan(*module.entry(), known, {}).value();
//   for (const Layer& layer : plan.layers) std::cout << layer.out->name();
//
// A layer starts where integers are summed in s32 (a convolution or dot with known weights, a batch of dots of two int8
// values, a sum over int8 values, an addition of two) and takes in what follows as long as nothing else reads it:
//
//   convolution -> + bias, * scale (any arithmetic by known values of a channel: a normalisation's) -> + residual
//               -> relu, clip                                                                        = layer.out
//
// Its result is int8 where int8 is wanted: where a further convolution or dot reads it, be it through a pooling, a
// rearrangement or an addition. Elsewhere the layer ends after its scale and bias, and its accumulators become floats:
// nothing is rounded to 8 bits for a reader of floats. Other instructions that only rearrange or choose among int8
// values stay in int8, at the same scale. Linear in the computation.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "hlo/quantize/known_values.h"

namespace smelt::hlo::quantize {

enum class LayerKind : uint8_t {
  kContraction,  // convolution or dot with known weights
  kProduct,      // batch of dots of two int8 values: attention's scores and their products with the values
  kSum,          // reduce or reduce-window by addition: average pooling
  kAdd,          // of two int8 values
};

// What an instruction of Plan::kept clips its values to: a maximum, minimum or clamp, and the initial value of a
// reduction by maximum.
struct Bounds {
  int64_t operand = 0;  // that is clipped
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

struct Layer {
  LayerKind kind = LayerKind::kContraction;
  const Instruction* root = nullptr;  // the convolution, dot, reduce, reduce-window or add
  int64_t data_operand = 0;           // of root, which int8 values come by; kProduct: both operands do
  const Instruction* data() const { return root->operand(data_operand); }

  // kContraction: what is known of the other operand, whose dimensions `weight_dims` stand for the dimensions
  // `channel_dims` of the root, in this order.
  std::shared_ptr<const Literal> weights;
  std::vector<int64_t> weight_dims, channel_dims;

  // The value after scale and bias is scale[c] * root + offset[c] for channel c.
  std::vector<double> scale, offset;

  // Rearrangements and the addition of the residual (kAdd: none, root is the addition), from root to out.
  std::vector<const Instruction*> steps;
  const Instruction* residual = nullptr;      // the other operand of the addition
  const Instruction* residual_add = nullptr;  // kAdd: root
  Bounds clip;                                // relu and its kin

  const Instruction* out = nullptr;
  bool integer_out = false;
  std::vector<const Instruction*> members;  // from root to out, in order
};

struct Plan {
  std::vector<Layer> layers;  // by root, in post order
  // Instructions that stay in int8 at their operand's scale: rearrangements, maxima, clips.
  absl::flat_hash_set<const Instruction*> kept;
  absl::flat_hash_map<const Instruction*, Bounds> bounds;
  // Values that are int8: results of layers and of `kept`, and floats that are quantised for their readers.
  absl::flat_hash_set<const Instruction*> quantized;
  // Layer by its result.
  absl::flat_hash_map<const Instruction*, int64_t> layer_of;
  // Why an instruction that reads inputs stays float.
  absl::flat_hash_map<const Instruction*, std::string> why_float;

  // Whether int8 comes out of it without a conversion from floats.
  bool IsInteger(const Instruction* x) const {
    if (kept.contains(x)) return true;
    const auto layer = layer_of.find(x);
    return layer != layer_of.end() && layers[layer->second].integer_out;
  }
};

struct PlanOptions {
  // Convolutions and dots that stay float, by name.
  absl::flat_hash_set<std::string> keep_float;
};

// How many products a dot adds up for one element of its result.
int64_t SummedProducts(const Instruction& dot);
// How many elements a reduce or reduce-window adds up for one of its result.
int64_t SummedElements(const Instruction& x);

// Errors: the evaluator's, on what depends on weights alone.
absl::StatusOr<Plan> MakePlan(const Computation& computation, KnownValues& known, const PlanOptions& options);

}  // namespace smelt::hlo::quantize
