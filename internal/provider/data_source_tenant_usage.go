package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

var _ datasource.DataSourceWithConfigure = (*tenantUsageDataSource)(nil)

func newTenantUsageDataSource() datasource.DataSource { return &tenantUsageDataSource{} }

// tenantUsageDataSource counts what a tenant holds. The service has no counters: it reads the tenant's entities.
type tenantUsageDataSource struct{ dataSourceClient }

type tenantUsageModel struct {
	TenantID         types.String    `tfsdk:"tenant_id"`
	MaxEntities      types.Int64     `tfsdk:"max_entities"`
	RecentFor        types.String    `tfsdk:"recent_for"`
	Complete         types.Bool      `tfsdk:"complete"`
	Entities         types.Int64     `tfsdk:"entities"`
	Bytes            types.Int64     `tfsdk:"bytes"`
	Partitions       types.Int64     `tfsdk:"partitions"`
	LargestPartition *partitionModel `tfsdk:"largest_partition"`
	HottestPartition *partitionModel `tfsdk:"hottest_partition"`
}

type partitionModel struct {
	Table        types.String `tfsdk:"table"`
	PartitionKey types.String `tfsdk:"partition_key"`
	Entities     types.Int64  `tfsdk:"entities"`
	Bytes        types.Int64  `tfsdk:"bytes"`
	Recent       types.Int64  `tfsdk:"recent"`
}

// Metadata names the data source.
func (d *tenantUsageDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_tenant_usage"
}

// Schema describes the data source.
func (d *tenantUsageDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	partition := func(which string) schema.Attribute {
		return schema.SingleNestedAttribute{
			MarkdownDescription: which,
			Computed:            true,
			Attributes: map[string]schema.Attribute{
				"table":         computedText("The logical table."),
				"partition_key": computedText("The partition's PartitionKey."),
				"entities":      computedNumber("Its entities."),
				"bytes":         computedNumber("Their billed size."),
				"recent":        computedNumber("Its entities that were last written within `recent_for`."),
			},
		}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "How much a tenant holds. The service has no counters, so every plan **reads all of the tenant's entities**: one request for each thousand. " +
			"`max_entities` bounds that.",
		Attributes: map[string]schema.Attribute{
			"tenant_id": schema.StringAttribute{
				MarkdownDescription: "The tenant's id.",
				Required:            true,
				Validators:          []validator.String{tenantIDValidator()},
			},
			"max_entities": schema.Int64Attribute{
				MarkdownDescription: "How many entities are read at most; beyond that the counts are of those alone, and `complete` is false. Defaults to all.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"recent_for": schema.StringAttribute{
				MarkdownDescription: "How far back a write counts as recent, such as `24h`, the default.",
				Optional:            true,
				Validators:          []validator.String{positiveDurationValidator()},
			},
			"complete":          computedFlag("Whether all entities were read."),
			"entities":          computedNumber("The tenant's entities in all tables."),
			"bytes":             computedNumber("Their billed size, as the service's documentation computes it, with the keys and names of properties."),
			"partitions":        computedNumber("The partitions that hold them."),
			"largest_partition": partition("The partition with the most bytes. Null for a tenant without entities."),
			"hottest_partition": partition("The partition with the most entities that were written recently, by their Timestamp: the service does not say how often a partition is read, " +
				"and of several writes to an entity it keeps the last. Null where nothing was written recently."),
		},
	}
}

// Read reads the tenant's entities.
func (d *tenantUsageDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m tenantUsageModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := d.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	id := m.TenantID.ValueString()
	rec, ok := d.find(ctx, id, &resp.Diagnostics)
	if !ok {
		return
	}
	recent := 24 * time.Hour
	if !m.RecentFor.IsNull() {
		var err error
		if recent, err = time.ParseDuration(m.RecentFor.ValueString()); err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("recent_for"), "recent_for is not a duration", sentence(err))
			return
		}
	}
	u := usage{since: time.Now().Add(-recent), most: m.MaxEntities.ValueInt64()}
	if err := u.read(ctx, s.accounts, rec); err != nil {
		addServiceError(&resp.Diagnostics, "The entities of tenant "+quote(id)+" could not be counted", err)
		return
	}
	u.tell(&m)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// usage adds up entities that come in key order, so that it keeps one partition in memory.
type usage struct {
	since time.Time
	most  int64 // 0: no bound

	cut              bool
	all              partitionUsage
	partitions       int64
	current          partitionUsage
	largest, hottest partitionUsage
}

type partitionUsage struct {
	table, key              string
	entities, bytes, recent int64
}

func (u *usage) read(ctx context.Context, accounts *tablestorage.Accounts, rec catalog.TenantRecord) error {
	for _, logical := range rec.Placement.LogicalTables() {
		place := rec.Placement[logical]
		table, err := accounts.At(place)
		if err != nil {
			return err
		}
		for e, err := range table.Query(ctx, tablestorage.Query{Range: &place.Range}) {
			if err != nil {
				return fmt.Errorf("%v: %w", place, err)
			}
			if u.most > 0 && u.all.entities == u.most {
				u.cut = true
				break
			}
			if u.current.entities == 0 || u.current.key != e.PartitionKey {
				u.close()
				u.current = partitionUsage{table: logical, key: e.PartitionKey}
			}
			u.current.add(int64(e.Size()), !e.Timestamp.Before(u.since))
			u.all.add(int64(e.Size()), false)
		}
		u.close()
	}
	return nil
}

func (p *partitionUsage) add(bytes int64, recent bool) {
	p.entities++
	p.bytes += bytes
	if recent {
		p.recent++
	}
}

// close ends the current partition.
func (u *usage) close() {
	if u.current.entities > 0 {
		u.partitions++
	}
	if u.current.bytes > u.largest.bytes {
		u.largest = u.current
	}
	if u.current.recent > u.hottest.recent {
		u.hottest = u.current
	}
	u.current = partitionUsage{}
}

func (u *usage) tell(m *tenantUsageModel) {
	m.Complete = types.BoolValue(!u.cut)
	m.Entities = types.Int64Value(u.all.entities)
	m.Bytes = types.Int64Value(u.all.bytes)
	m.Partitions = types.Int64Value(u.partitions)
	m.LargestPartition, m.HottestPartition = u.largest.model(), u.hottest.model()
}

func (p partitionUsage) model() *partitionModel {
	if p.entities == 0 {
		return nil
	}
	return &partitionModel{types.StringValue(p.table), types.StringValue(p.key), types.Int64Value(p.entities), types.Int64Value(p.bytes), types.Int64Value(p.recent)}
}
