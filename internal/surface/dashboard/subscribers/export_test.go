package subscribers

// What tests of the screens use.
var DeliveriesOf = deliveriesOf
