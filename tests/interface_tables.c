/* SPDX-License-Identifier: MIT */
/* Prints the tables that man/adit-api.7 and the OpenAPI document describe, a row a line, for
 * tests/man-guard and tests/reference/guard. */
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "base/ident.h"
#include "json/check.h"
#include "model/acl.h"
#include "model/key_kind.h"
#include "model/resource.h"
#include "model/ssh_credential.h"
#include "model/ssh_decision.h"

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

/* The errors of keys that may not use the route, or not for every row. */
static void print_refusals(const struct route *route)
{
    for (int kind = 0; kind < KEY_N_KINDS && !route->is_public; kind++) {
        enum error_code code = key_kind_forbids((enum key_kind)kind, route->keys,
                                                !api_route_reads_only(route), KEY_WHOSE_OTHERS);

        if (code != ERR_NONE)
            printf(" %d", number_of(code));
    }
    putchar('\n');
}

static void print_routes(void)
{
    for (const struct route *route = api_routes; route->method; route++) {
        printf("route\t%s %s\t%s\t%s\t%s\t%s\t", route->method, route->path,
               route->is_public ? "public" : "key",
               api_route_reads_only(route) ? "reads" : "writes",
               route->body == ROUTE_NO_BODY ? "none" : "body",
               strchr(route->path, '{') ? "one" : "all");
        print_refusals(route);
        for (const struct query_param *param = route->query; param && param->name; param++)
            printf("query\t%s\t%s\t%s %s\n", param->name, param->alias ? param->alias : "",
                   route->method, route->path);
    }
}

/* The errors that the checks of a field end in. */
static void print_checks(const char *table, const struct field *field)
{
    printf("checks\t%s\t%s\t%zu\t%d\t%d\t%d\t%d\t%d\n", table, field->name,
           field->too_long ? field->max : 0, number_of(field->too_long), number_of(field->too_many),
           number_of(field->empty), number_of(field->repeated), number_of(field->invalid));
}

/* Rows that a body may not hold are no members of it. */
static void print_fields(const char *table, const struct field *fields, size_t n)
{
    static const char *const kinds[] = {
        [FIELD_TEXT] = "string",     [FIELD_TEXTS] = "list",        [FIELD_BOOL] = "boolean",
        [FIELD_UINT32] = "uint32",   [FIELD_TIME_OR_NULL] = "time", [FIELD_OBJECT] = "object",
        [FIELD_PROVIDER] = "object",
    };

    for (size_t i = 0; i < n; i++) {
        print_checks(table, &fields[i]);
        if (fields[i].kind == FIELD_REFUSED)
            printf("refused\t%s\t%s\n", table, fields[i].name);
        else
            printf("field\t%s\t%s\t%s\t%zu\n", table, fields[i].name, kinds[fields[i].kind],
                   fields[i].max);
    }
}

static void print_limit(const char *name, size_t value)
{
    printf("limit\t%s\t%zu\n", name, value);
}

int main(void)
{
    print_errors();
    print_routes();
    print_fields("create", ssh_credential_create_fields, ssh_credential_n_create_fields);
    print_fields("update", ssh_credential_update_fields, ssh_credential_n_update_fields);
    print_fields("decide", ssh_decision_fields, ssh_decision_n_fields);
    for (int kind = 0; kind < RESOURCE_N_KINDS; kind++) {
        const struct resource_row *row = resource_row((enum resource_kind)kind);

        print_fields(row->name, row->fields, *row->n_fields);
    }
    print_fields("provider", oauth_provider_fields, oauth_provider_n_fields);
    printf("providers\t%d\t%d\n", OAUTH_N_PROVIDERS, OAUTH_N_HOSTING_FIELDS);
    print_limit("body bytes", REQUEST_BODY_MAX);
    print_limit("nesting", JSON_MAX_DEPTH);
    print_limit("values", JSON_MAX_VALUES);
    print_limit("list entries", FIELD_MAX_ENTRIES);
    print_limit("identifier characters", IDENT_MAX);
    return 0;
}
