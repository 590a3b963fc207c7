package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
)

// pureFunction is a provider function: a name, a signature and a computation that asks nobody. The same arguments always
// give the same result, so that plans show it.
type pureFunction struct {
	name       string
	definition function.Definition
	run        func(context.Context, function.ArgumentsData) (any, *function.FuncError)
}

var _ function.Function = pureFunction{}

// Metadata names the function.
func (f pureFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = f.name
}

// Definition describes the function.
func (f pureFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = f.definition
}

// Run computes the result.
func (f pureFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	result, err := f.run(ctx, req.Arguments)
	if err == nil {
		err = resp.Result.Set(ctx, result)
	}
	resp.Error = function.ConcatFuncErrors(resp.Error, err)
}

// textFunction makes a text of a text.
func textFunction(name string, d function.Definition, of func(string) (string, error)) function.Function {
	return pureFunction{name, d, func(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
		var text string
		if err := arguments.Get(ctx, &text); err != nil {
			return nil, err
		}
		result, err := of(text)
		return result, argumentError(0, err)
	}}
}

// argumentError is the error of an argument, nil for nil.
func argumentError(position int64, err error) *function.FuncError {
	if err == nil {
		return nil
	}
	return function.NewArgumentFuncError(position, sentence(err))
}

func textParameter(name, description string) function.StringParameter {
	return function.StringParameter{Name: name, MarkdownDescription: description}
}
