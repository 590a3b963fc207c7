package edm

import (
	"fmt"
	"time"
)

// Error is a refusal as the service words it: Code and Message go to the wire as they are (Table service error
// codes, REST reference). Detail says which rule was broken, for people who read a log; the service does not send it.
type Error struct {
	Code    string // such as "InvalidInput"
	Message string
	Detail  string
}

// Error returns "Code: Message", with the detail in parentheses when there is one.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Code + ": " + e.Message
	}
	return e.Code + ": " + e.Message + " (" + e.Detail + ")"
}

func invalidInput(detail string) error {
	return &Error{"InvalidInput", "One of the request inputs is not valid.", detail}
}

func invalidInputf(format string, args ...any) error {
	return invalidInput(fmt.Sprintf(format, args...))
}

// outOfRange is the refusal of a key or a value: its text repeats what was sent.
func outOfRange(name, value, detail string) error {
	return &Error{"OutOfRangeInput", "The '" + name + "' parameter of value '" + value + "' is out of range.", detail}
}

// timeOutOfRange words a DateTime as the service does: month first, no fraction (observed).
func timeOutOfRange(name string, t time.Time) error {
	return outOfRange(name, t.Format("01/02/2006 15:04:05"), "a DateTime lies in the years 1601 to 9999")
}

func duplicateProperty(name string) error {
	return &Error{"DuplicatePropertiesSpecified", "A property is specified more than one time.", fmt.Sprintf("%q", name)}
}

func tooManyProperties(detail string) error {
	return &Error{"TooManyProperties", "The entity contains more properties than allowed. Each entity can include up to " +
		"252 properties to store data. Each entity also has 3 system properties.", detail}
}

func valueTooLarge(detail string) error {
	return &Error{"PropertyValueTooLarge", "The property value exceeds the maximum allowed size (64KB). If the property " +
		"value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.", detail}
}
