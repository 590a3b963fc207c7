package tableserver

import (
	"net/http"
	"slices"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// operation is what a request asks for.
type operation struct {
	permission auth.Operation // 0: the handler checks, because the permission depends on more than the address
	read       bool           // changes nothing, so that the secondary location answers it too
	plain      bool           // not OData: XML, and no Cache-Control
	prefers    bool           // Prefer counts
	run        func(*call) error
	name       traffic.Operation // of a write of one entity the handler knows better
	admits     bool              // the handler calls admit, because only it knows what is touched
}

// route names the request that leads to an operation: resource, method and the comp parameter.
type route struct {
	kind   resourceKind
	method string
	comp   string
}

// routes is the operation table of reference §1.2.
var routes = map[route]operation{
	{tablesResource, "GET", ""}: {permission: auth.QueryTables, read: true,
		run: (*call).queryTables, name: traffic.QueryTables},
	{tablesResource, "POST", ""}: {permission: auth.CreateTable, prefers: true,
		run: (*call).createTable, name: traffic.CreateTable, admits: true},
	{tableEntry, "GET", ""}: {permission: auth.QueryTables, read: true,
		run: (*call).getTable, name: traffic.QueryTable},
	{tableEntry, "DELETE", ""}: {permission: auth.DeleteTable, run: (*call).deleteTable, name: traffic.DeleteTable},
	{tableResource, "GET", "acl"}: {permission: auth.GetTableACL, read: true, plain: true,
		run: (*call).getACL, name: traffic.GetTableACL},
	{tableResource, "HEAD", "acl"}: {permission: auth.GetTableACL, read: true, plain: true,
		run: (*call).getACL, name: traffic.GetTableACL},
	{tableResource, "PUT", "acl"}: {permission: auth.SetTableACL, plain: true,
		run: (*call).setACL, name: traffic.SetTableACL},
	{tableResource, "GET", ""}: {permission: auth.QueryEntities, read: true,
		run: (*call).queryEntities, name: traffic.QueryEntities, admits: true},
	{tableResource, "POST", ""}: {permission: auth.InsertEntity, prefers: true,
		run: (*call).writeEntity, name: traffic.InsertEntity, admits: true},
	{entityResource, "GET", ""}: {permission: auth.GetEntity, read: true,
		run: (*call).getEntity, name: traffic.QueryEntity, admits: true},
	{entityResource, "PUT", ""}:   {run: (*call).writeEntity, name: traffic.UpdateEntity, admits: true},
	{entityResource, "PATCH", ""}: {run: (*call).writeEntity, name: traffic.MergeEntity, admits: true},
	{entityResource, "MERGE", ""}: {run: (*call).writeEntity, name: traffic.MergeEntity, admits: true},
	{entityResource, "DELETE", ""}: {permission: auth.DeleteEntity,
		run: (*call).writeEntity, name: traffic.DeleteEntity, admits: true},
	{batchResource, "POST", ""}: {read: true, run: (*call).batch, name: traffic.Batch, admits: true},
	{serviceResource, "GET", propertiesComp}: {permission: auth.GetServiceProperties, read: true, plain: true,
		run: (*call).getServiceProperties, name: traffic.GetProperties},
	{serviceResource, "PUT", propertiesComp}: {permission: auth.SetServiceProperties, plain: true,
		run: (*call).setServiceProperties, name: traffic.SetProperties},
	{serviceResource, "POST", delegationComp}: {permission: auth.GetUserDelegationKey, plain: true,
		run: (*call).getUserDelegationKey, name: traffic.GetUserDelegationKey},
	{serviceResource, "GET", statsComp}: {permission: auth.GetServiceStats, read: true, plain: true,
		run: (*call).getServiceStats, name: traffic.GetStats},
}

// The comp parameters of service operations, with the restype that they need.
const (
	propertiesComp = "service properties"
	statsComp      = "service stats"
	delegationComp = "service userdelegationkey"
)

// operation finds the route. A method that the resource has not is 405, another comp 400.
func (c *call) operation() (operation, error) {
	method, err := tunnelledMethod(c.r)
	if err != nil {
		return operation{}, err
	}
	c.method = method
	at := route{c.resource.kind, method, c.query.get("comp")}
	if c.resource.kind == serviceResource && at.comp != "" {
		at.comp = c.query.get("restype") + " " + at.comp
	}
	if o, ok := routes[at]; ok {
		return o, nil
	}
	c.plain = at.comp != "" || c.resource.kind == serviceResource
	for r := range routes {
		if r.kind == at.kind && r.comp == at.comp {
			return operation{}, errMethod
		}
	}
	return operation{}, fail("InvalidQueryParameterValue",
		"Value for one of the query parameters specified in the request URI is invalid.")
}

// tunnelledMethod returns the method, which a POST may carry in X-HTTP-Method.
func tunnelledMethod(r *http.Request) (string, error) {
	values := r.Header["X-Http-Method"]
	switch {
	case len(values) == 0:
		return r.Method, nil
	case len(values) > 1:
		return "", fail("XMethodIncorrectCount", "X-HTTP-Method is specified more than once.")
	case r.Method != http.MethodPost:
		return "", fail("XMethodNotUsingPost", "X-HTTP-Method can only be used with POST.")
	case !slices.Contains([]string{"MERGE", "PATCH", "PUT", "DELETE"}, values[0]):
		return "", fail("XMethodIncorrectValue", "The value of X-HTTP-Method is not valid.")
	}
	return values[0], nil
}
