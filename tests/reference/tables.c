/* SPDX-License-Identifier: MIT */
/* Prints the tables that the OpenAPI document has to agree with, a row a line, in columns between
 * tabs; tests/reference/guard reads them. */
#include <stdio.h>

#include "api/api.h"
#include "base/ident.h"
#include "model/mutual_tls_module.h"
#include "model/oauth_module.h"
#include "model/ssh_credential.h"

/* 0 where there is no error. */
static int number_of(enum error_code code)
{
    return code == ERR_NONE ? 0 : error_row(code)->number;
}

static void print_errors(void)
{
    for (int code = ERR_NONE + 1; code < ERR_N_CODES; code++) {
        const struct error_row *row = error_row((enum error_code)code);

        printf("error\t%d\t%d\t%s\n", row->number, row->status, row->text);
    }
}

static void print_routes(void)
{
    for (const struct route *route = api_routes; route->method; route++) {
        printf("route\t%s\t%s\t%d\t%d\t%d\t%d\n", route->method, route->path, route->is_public,
               route->reads_only, route->body == ROUTE_JSON_BODY, number_of(route->missing));
        for (const struct query_param *param = route->query; param && param->name; param++)
            printf("query\t%s\t%s\t%s\t%s\n", route->method, route->path, param->name,
                   param->alias ? param->alias : "");
    }
}

static const char *const kinds[] = {
    [FIELD_TEXT] = "text",     [FIELD_TEXTS] = "texts",   [FIELD_BOOL] = "bool",
    [FIELD_UINT32] = "uint32", [FIELD_OBJECT] = "object", [FIELD_REFUSED] = "refused",
};

static void print_fields(const char *table, const struct field *fields, size_t n_fields)
{
    for (size_t i = 0; i < n_fields; i++) {
        const struct field *field = &fields[i];

        printf("field\t%s\t%s\t%s\t%zu\t%d\t%d\t%d\t%d\t%d\n", table, field->name,
               kinds[field->kind], field->too_long ? field->max : 0, number_of(field->too_long),
               number_of(field->too_many), number_of(field->empty), number_of(field->repeated),
               number_of(field->invalid));
    }
}

int main(void)
{
    print_errors();
    print_routes();
    print_fields("create", ssh_credential_create_fields, ssh_credential_n_create_fields);
    print_fields("update", ssh_credential_update_fields, ssh_credential_n_update_fields);
    print_fields("oauth", oauth_module_fields, oauth_module_n_fields);
    print_fields("provider", oauth_provider_fields,
                 oauth_provider_n_fields - OAUTH_N_HOSTING_FIELDS);
    print_fields("hosting", oauth_provider_fields, oauth_provider_n_fields);
    print_fields("mutual_tls", mutual_tls_module_fields, mutual_tls_module_n_fields);
    printf("limit\tidentifier\t%d\nlimit\tentries\t%d\nlimit\tproviders\t%d\n", IDENT_MAX,
           FIELD_MAX_ENTRIES, OAUTH_N_PROVIDERS);
    return 0;
}
