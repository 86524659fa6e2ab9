// The search takes a dash before a word as "without this word". A reader who types --quiet looks for that option: the
// search gets the words without their dashes, and the field shows them as they were typed.
const field = document.querySelector("input.md-search__input");
if (field) {
  const typed = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  Object.defineProperty(field, "value", {
    get() { return typed.get.call(this).replace(/(^|\s)-+/g, "$1"); },
    set(text) { typed.set.call(this, text); },
  });
}
