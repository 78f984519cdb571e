// What an instruction carries without meaning it, as protos: metadata, frontend attributes, statistics, original
// values, and the tables of stack frames. On the side of the module all of it is text, printed as XLA prints it.
//
// Each Write returns false where the fields cannot say what the text says; the message may then be half filled.
#pragma once

#include <string>
#include <string_view>

#include "hlo/proto/hlo.pb.h"
#include "hlo/scanner/scanner.h"

namespace smelt::hlo::proto {

// {op_type="t" op_name="n" source_line=3}
bool WriteMetadata(text::Scanner& scanner, OpMetadata* to);
void AppendMetadata(std::string* out, const OpMetadata& from);
// One as it is, several as {{...}, {...}}.
using MetadataList = google::protobuf::RepeatedPtrField<OpMetadata>;
bool WriteMetadataList(text::Scanner& scanner, MetadataList* to);
void AppendMetadataList(std::string* out, const MetadataList& from);

// {a="1",b={x=2}}
bool WriteFrontendAttributes(text::Scanner& scanner, FrontendAttributes* to);
void AppendFrontendAttributes(std::string* out, const FrontendAttributes& from);

// {visualizing_index=1,nan=2}
bool WriteStatistics(text::Scanner& scanner, StatisticsViz* to);
void AppendStatistics(std::string* out, const StatisticsViz& from);

// {({"x"}, {"y" {1}})}, {[synthetic_call]}
bool WriteOriginalValue(text::Scanner& scanner, OriginalValueProto* to);
void AppendOriginalValue(std::string* out, const OriginalValueProto& from);

// The tables after a module's header.
bool WriteTables(std::string_view tables, StackFrameIndexProto* to);
std::string TablesText(const StackFrameIndexProto& from);

// "..." with C escapes.
void AppendQuoted(std::string* out, const std::string& content);
// Braces that close, as XLA's lexer wants them of a value without quotes.
bool StandsWithoutQuotes(std::string_view content);

}  // namespace smelt::hlo::proto
