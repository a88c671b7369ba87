// The type of a slot in an index list, as the variant's `index` says.
#pragma once

#include "vectors.hpp"

template <variant::index_values> struct index_type_of;
template <> struct index_type_of<variant::index_values::i32> {
    using type = int;
};
template <> struct index_type_of<variant::index_values::i64> {
    using type = i64;
};
using index_type = index_type_of<variant::index>::type;
