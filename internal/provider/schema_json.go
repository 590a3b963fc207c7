package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// schemaKey is the only namespace under which the documentation generator looks for a provider that it was given by
// name.
const schemaKey = "registry.terraform.io/hashicorp/aztenancy"

// WriteSchemaJSON writes the provider's schemas to w in the shape of `terraform providers schema -json`, under the
// key that the documentation generator expects. It asks the provider itself, so it needs no Terraform, and it holds
// the identity schemas, which Terraform prints from 1.12 on.
func WriteSchemaJSON(ctx context.Context, w io.Writer) error {
	server := providerserver.NewProtocol6(New("dev")())()
	schemas, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return fmt.Errorf("read the provider's schemas: %w", err)
	}
	if err := diagnosticsError(schemas.Diagnostics); err != nil {
		return fmt.Errorf("read the provider's schemas: %w", err)
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return fmt.Errorf("read the identity schemas: %w", err)
	}
	if err := diagnosticsError(identities.Diagnostics); err != nil {
		return fmt.Errorf("read the identity schemas: %w", err)
	}
	dump := schemasJSON{
		FormatVersion: "1.0",
		Providers: map[string]providerJSON{schemaKey: {
			Provider:           toSchemaJSON(schemas.Provider),
			Resources:          toSchemasJSON(schemas.ResourceSchemas),
			DataSources:        toSchemasJSON(schemas.DataSourceSchemas),
			EphemeralResources: ephemeralJSON(schemas.EphemeralResourceSchemas),
			ListResources:      listResourcesJSON(schemas.ListResourceSchemas),
			Actions:            actionsJSON(schemas.ActionSchemas),
			Functions:          functionsJSON(schemas.Functions),
			Identities:         identitiesJSON(identities.IdentitySchemas),
		}},
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(dump); err != nil {
		return fmt.Errorf("write the provider's schemas: %w", err)
	}
	return nil
}

func diagnosticsError(ds []*tfprotov6.Diagnostic) error {
	for _, d := range ds {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return fmt.Errorf("%s: %s", d.Summary, d.Detail)
		}
	}
	return nil
}

// The types below are the JSON of `terraform providers schema -json`, format version 1.0.
type (
	schemasJSON struct {
		FormatVersion string                  `json:"format_version"`
		Providers     map[string]providerJSON `json:"provider_schemas"`
	}
	providerJSON struct {
		Provider           *schemaJSON              `json:"provider"`
		Resources          map[string]*schemaJSON   `json:"resource_schemas,omitempty"`
		DataSources        map[string]*schemaJSON   `json:"data_source_schemas,omitempty"`
		EphemeralResources map[string]*schemaJSON   `json:"ephemeral_resource_schemas,omitempty"`
		ListResources      map[string]*schemaJSON   `json:"list_resource_schemas,omitempty"`
		Actions            map[string]*schemaJSON   `json:"action_schemas,omitempty"`
		Functions          map[string]functionJSON  `json:"functions,omitempty"`
		Identities         map[string]*identityJSON `json:"resource_identity_schemas,omitempty"`
	}
	schemaJSON struct {
		Version int64     `json:"version"`
		Block   blockJSON `json:"block"`
	}
	blockJSON struct {
		Attributes      map[string]attributeJSON   `json:"attributes,omitempty"`
		Blocks          map[string]nestedBlockJSON `json:"block_types,omitempty"`
		Description     string                     `json:"description,omitempty"`
		DescriptionKind string                     `json:"description_kind,omitempty"`
		Deprecated      bool                       `json:"deprecated,omitempty"`
	}
	nestedBlockJSON struct {
		NestingMode string    `json:"nesting_mode"`
		Block       blockJSON `json:"block"`
		MinItems    int64     `json:"min_items,omitempty"`
		MaxItems    int64     `json:"max_items,omitempty"`
	}
	attributeJSON struct {
		Type            json.RawMessage `json:"type,omitempty"`
		NestedType      *nestedTypeJSON `json:"nested_type,omitempty"`
		Description     string          `json:"description,omitempty"`
		DescriptionKind string          `json:"description_kind,omitempty"`
		Deprecated      bool            `json:"deprecated,omitempty"`
		Required        bool            `json:"required,omitempty"`
		Optional        bool            `json:"optional,omitempty"`
		Computed        bool            `json:"computed,omitempty"`
		Sensitive       bool            `json:"sensitive,omitempty"`
		WriteOnly       bool            `json:"write_only,omitempty"`
	}
	nestedTypeJSON struct {
		Attributes  map[string]attributeJSON `json:"attributes"`
		NestingMode string                   `json:"nesting_mode"`
	}
	identityJSON struct {
		Version    int64                            `json:"version"`
		Attributes map[string]identityAttributeJSON `json:"attributes"`
	}
	identityAttributeJSON struct {
		Type              json.RawMessage `json:"type"`
		Description       string          `json:"description,omitempty"`
		RequiredForImport bool            `json:"required_for_import,omitempty"`
		OptionalForImport bool            `json:"optional_for_import,omitempty"`
	}
	functionJSON struct {
		Description       string          `json:"description,omitempty"`
		Summary           string          `json:"summary,omitempty"`
		Deprecation       string          `json:"deprecation_message,omitempty"`
		ReturnType        json.RawMessage `json:"return_type"`
		Parameters        []parameterJSON `json:"parameters,omitempty"`
		VariadicParameter *parameterJSON  `json:"variadic_parameter,omitempty"`
	}
	parameterJSON struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		IsNullable  bool            `json:"is_nullable,omitempty"`
		Type        json.RawMessage `json:"type"`
	}
)

func toSchemasJSON(in map[string]*tfprotov6.Schema) map[string]*schemaJSON {
	out := make(map[string]*schemaJSON, len(in))
	for name, s := range in {
		out[name] = toSchemaJSON(s)
	}
	return out
}

func ephemeralJSON(in map[string]*tfprotov6.Schema) map[string]*schemaJSON {
	if len(in) == 0 {
		return nil
	}
	return toSchemasJSON(in)
}

func toSchemaJSON(s *tfprotov6.Schema) *schemaJSON {
	return &schemaJSON{Version: s.Version, Block: toBlockJSON(s.Block)}
}

func toBlockJSON(b *tfprotov6.SchemaBlock) blockJSON {
	out := blockJSON{
		Attributes:      toAttributesJSON(b.Attributes),
		Description:     b.Description,
		DescriptionKind: kindName(b.DescriptionKind),
		Deprecated:      b.Deprecated,
	}
	for _, n := range b.BlockTypes {
		if out.Blocks == nil {
			out.Blocks = make(map[string]nestedBlockJSON, len(b.BlockTypes))
		}
		out.Blocks[n.TypeName] = nestedBlockJSON{
			NestingMode: strings.ToLower(n.Nesting.String()),
			Block:       toBlockJSON(n.Block),
			MinItems:    n.MinItems,
			MaxItems:    n.MaxItems,
		}
	}
	return out
}

func toAttributesJSON(in []*tfprotov6.SchemaAttribute) map[string]attributeJSON {
	out := make(map[string]attributeJSON, len(in))
	for _, a := range in {
		j := attributeJSON{
			Description:     a.Description,
			DescriptionKind: kindName(a.DescriptionKind),
			Deprecated:      a.Deprecated,
			Required:        a.Required,
			Optional:        a.Optional,
			Computed:        a.Computed,
			Sensitive:       a.Sensitive,
			WriteOnly:       a.WriteOnly,
		}
		if a.NestedType != nil {
			j.NestedType = &nestedTypeJSON{
				Attributes:  toAttributesJSON(a.NestedType.Attributes),
				NestingMode: strings.ToLower(a.NestedType.Nesting.String()),
			}
		} else {
			j.Type = typeJSON(a.Type)
		}
		out[a.Name] = j
	}
	return out
}

func identitiesJSON(in map[string]*tfprotov6.ResourceIdentitySchema) map[string]*identityJSON {
	out := make(map[string]*identityJSON, len(in))
	for name, s := range in {
		j := &identityJSON{Version: s.Version, Attributes: make(map[string]identityAttributeJSON, len(s.IdentityAttributes))}
		for _, a := range s.IdentityAttributes {
			j.Attributes[a.Name] = identityAttributeJSON{
				Type:              typeJSON(a.Type),
				Description:       a.Description,
				RequiredForImport: a.RequiredForImport,
				OptionalForImport: a.OptionalForImport,
			}
		}
		out[name] = j
	}
	return out
}

func functionsJSON(in map[string]*tfprotov6.Function) map[string]functionJSON {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]functionJSON, len(in))
	for name, f := range in {
		j := functionJSON{
			Description: f.Description,
			Summary:     f.Summary,
			Deprecation: f.DeprecationMessage,
			ReturnType:  typeJSON(f.Return.Type),
		}
		for _, p := range f.Parameters {
			j.Parameters = append(j.Parameters, toParameterJSON(p))
		}
		if f.VariadicParameter != nil {
			p := toParameterJSON(f.VariadicParameter)
			j.VariadicParameter = &p
		}
		out[name] = j
	}
	return out
}

func toParameterJSON(p *tfprotov6.FunctionParameter) parameterJSON {
	return parameterJSON{Name: p.Name, Description: p.Description, IsNullable: p.AllowNullValue, Type: typeJSON(p.Type)}
}

func kindName(k tfprotov6.StringKind) string {
	if k == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}

// typeJSON returns a type as Terraform writes it, such as ["map","string"].
func typeJSON(t tftypes.Type) json.RawMessage {
	switch t := t.(type) {
	case tftypes.List:
		return compoundJSON("list", t.ElementType)
	case tftypes.Set:
		return compoundJSON("set", t.ElementType)
	case tftypes.Map:
		return compoundJSON("map", t.ElementType)
	case tftypes.Tuple:
		elements := make([]json.RawMessage, len(t.ElementTypes))
		for i, e := range t.ElementTypes {
			elements[i] = typeJSON(e)
		}
		return mustJSON([]any{"tuple", elements})
	case tftypes.Object:
		attributes := make(map[string]json.RawMessage, len(t.AttributeTypes))
		for name, a := range t.AttributeTypes {
			attributes[name] = typeJSON(a)
		}
		return mustJSON([]any{"object", attributes})
	}
	for name, primitive := range map[string]tftypes.Type{"string": tftypes.String, "number": tftypes.Number, "bool": tftypes.Bool} {
		if t.Is(primitive) {
			return mustJSON(name)
		}
	}
	return mustJSON("dynamic")
}

func compoundJSON(kind string, element tftypes.Type) json.RawMessage {
	return mustJSON([]any{kind, typeJSON(element)})
}

// mustJSON marshals values that are made of strings, raw JSON, slices and maps only, which cannot fail.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// listResourcesJSON leaves nothing where there are none, as Terraform does.
func listResourcesJSON(in map[string]*tfprotov6.Schema) map[string]*schemaJSON {
	if len(in) == 0 {
		return nil
	}
	return toSchemasJSON(in)
}

func actionsJSON(in map[string]*tfprotov6.ActionSchema) map[string]*schemaJSON {
	schemas := make(map[string]*tfprotov6.Schema, len(in))
	for name, a := range in {
		schemas[name] = a.Schema
	}
	return listResourcesJSON(schemas)
}
