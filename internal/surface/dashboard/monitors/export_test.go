package monitors

// What tests of the screens use.
const MaxParents = maxParents
