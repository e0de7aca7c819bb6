package statuspages

// What tests of the screens use.
const OrderHeader = orderHeader

var PostmortemPath = postmortemPath
