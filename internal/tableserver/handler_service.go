package tableserver

import (
	"encoding/xml"
	"net/http"
	"time"
)

// serviceProperties is the document of Get and Set Table Service Properties. A section that a Set leaves out stays
// as it was. The server keeps the sections and answers with them; it writes no logs or metrics of its own by them.
type serviceProperties struct {
	XMLName       xml.Name  `xml:"StorageServiceProperties"`
	Logging       *logging  `xml:"Logging"`
	HourMetrics   *metrics  `xml:"HourMetrics"`
	MinuteMetrics *metrics  `xml:"MinuteMetrics"`
	Cors          *corsList `xml:"Cors"`
}

// The order of the elements is that of the service's answers (recordings). A request may have them in any order.
type logging struct {
	Version         string
	Read            bool
	Write           bool
	Delete          bool
	RetentionPolicy retention
}

type metrics struct {
	Version         string
	Enabled         bool
	IncludeAPIs     *bool `xml:",omitempty"` // absent while metrics are off
	RetentionPolicy retention
}

type retention struct {
	Enabled bool
	Days    int `xml:",omitempty"` // absent while retention is off
}

type corsList struct {
	Rules []corsRule `xml:"CorsRule"`
}

// corsRule is a rule of Cors. Its lists have commas between their elements.
type corsRule struct {
	AllowedOrigins  string
	AllowedMethods  string
	AllowedHeaders  string
	ExposedHeaders  string
	MaxAgeInSeconds int
}

// defaultProperties are those of an account whose properties were never set.
func defaultProperties() serviceProperties {
	yes := true
	return serviceProperties{
		Logging:       &logging{Version: "1.0"},
		HourMetrics:   &metrics{Version: "1.0", Enabled: true, IncludeAPIs: &yes, RetentionPolicy: retention{Enabled: true, Days: 7}},
		MinuteMetrics: &metrics{Version: "1.0"},
		Cors:          &corsList{},
	}
}

func (c *call) properties() (serviceProperties, error) {
	p := defaultProperties()
	stored, err := c.s.store.Properties(c.r.Context(), c.account)
	if err != nil || stored == nil {
		return p, err
	}
	p = serviceProperties{}
	return p, parseXML(stored, &p)
}

func (c *call) getServiceProperties() error {
	p, err := c.properties()
	if err != nil {
		return err
	}
	return c.writeXML(p)
}

func (c *call) setServiceProperties() error {
	body, err := c.body()
	if err != nil {
		return err
	}
	var given serviceProperties
	if err := parseXML(body, &given); err != nil || !given.valid() {
		return errInvalidXML
	}
	given.normalize()
	c.s.properties.Lock()
	defer c.s.properties.Unlock()
	p, err := c.properties()
	if err != nil {
		return err
	}
	replaceIfGiven(&p.Logging, given.Logging)
	replaceIfGiven(&p.HourMetrics, given.HourMetrics)
	replaceIfGiven(&p.MinuteMetrics, given.MinuteMetrics)
	replaceIfGiven(&p.Cors, given.Cors)
	text, err := xml.Marshal(p)
	if err != nil {
		return err
	}
	if err := c.s.store.SetProperties(c.r.Context(), c.account, text); err != nil {
		return err
	}
	if err := c.beforeAnswer(); err != nil {
		return err
	}
	c.write(http.StatusAccepted, nil)
	return nil
}

func replaceIfGiven[T any](to **T, given *T) {
	if given != nil {
		*to = given
	}
}

// serviceStats is the document of Get Table Service Stats.
type serviceStats struct {
	XMLName        xml.Name `xml:"StorageServiceStats"`
	GeoReplication struct {
		Status       string
		LastSyncTime string
	}
}

// getServiceStats answers at the secondary location only. Both locations are one store, so it is always in step.
func (c *call) getServiceStats() error {
	if !c.secondary {
		return fail("InvalidQueryParameterValue",
			"Value for one of the query parameters specified in the request URI is invalid.")
	}
	var stats serviceStats
	stats.GeoReplication.Status = "live"
	stats.GeoReplication.LastSyncTime = time.Now().UTC().Format(http.TimeFormat)
	return c.writeXML(stats)
}
