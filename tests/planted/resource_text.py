# SPDX-License-Identifier: MIT
"""The fourth resource that plant.py adds: a module of a route, with members of several kinds."""

TABLE = """
CREATE TABLE adit.planted_module (
    account_id text COLLATE "C" NOT NULL REFERENCES adit.account (id),
    edge_id text COLLATE "C" NOT NULL,
    route_id text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    labels text[] COLLATE "C" NOT NULL DEFAULT '{}',
    hops bigint NOT NULL DEFAULT 0,
    begins_at timestamptz,
    unknown_column text NOT NULL DEFAULT '',
    revision bigint NOT NULL DEFAULT adit.new_revision(),
    PRIMARY KEY (account_id, edge_id, route_id)
);
COMMENT ON TABLE adit.planted_module IS 'The planted module of a route.';
"""

TRIGGER = """CREATE TRIGGER renew_revision BEFORE UPDATE ON adit.planted_module
    FOR EACH ROW EXECUTE FUNCTION adit.renew_revision();
"""

ROW = r""" \
    MODULE(with, PLANTED_MODULE, planted_module, ROUTE, PLAIN, \
           "/edges/https/{edge_id}/routes/{id}/planted", ERR_PLANTED_NOT_FOUND, "planted", "planted module")"""

MEMBERS = r"""
#define PLANTED_MODULE_MEMBERS(MEMBER, with) \
    MEMBER(with, edge_id, TEXT, PATH, ERR_NONE, HIDDEN, FILTERED, ASIS) \
    MEMBER(with, route_id, TEXT, PATH, ERR_NONE, HIDDEN, UNFILTERED, ASIS) \
    MEMBER(with, enabled, BOOL, CHANGE, ERR_NONE, SHOWN, FILTERED, YES) \
    MEMBER(with, labels, TEXTS, CHANGE, ERR_NONE, SHOWN, FILTERED, FILLED, \
           .too_many = ERR_SCOPES_TOO_MANY, .repeated = ERR_SCOPE_REPEATED) \
    MEMBER(with, hops, UINT32, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS) \
    MEMBER(with, begins_at, TIME_OR_NULL, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS) \
    MEMBER(with, revision, NUMBER, SERVER, ERR_NONE, READ, UNFILTERED, ASIS)
"""

PATHS = """  /edges/https/{edge_id}/routes/{id}/planted:
    parameters:
      - $ref: "#/components/parameters/HttpsEdgeId"
      - $ref: "#/components/parameters/RouteId"
    put:
      operationId: replacePlantedModule
      x-addition: true
      summary: Create or replace the planted module of a route
      tags: [Mutual TLS module]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              $ref: "#/components/schemas/PlantedModulePut"
      responses: &planted_answer
        "200":
          description: The module.
          content:
            application/json:
              schema:
                $ref: "#/components/schemas/PlantedModule"
      x-errors: [key, not_gateway, condition, query, body, database, write, 9013, 9017, 9025, 9070]
    get:
      operationId: getPlantedModule
      x-addition: true
      summary: Read the planted module of a route
      tags: [Mutual TLS module]
      responses: *planted_answer
      x-errors: [key, not_gateway, condition, query, no_body, database, read, 9070, 9999]
    delete:
      operationId: deletePlantedModule
      x-addition: true
      summary: Delete the planted module of a route
      tags: [Mutual TLS module]
      responses:
        "204":
          description: The module no longer exists, or never existed.
      x-errors: [key, not_gateway, condition, query, no_body, database, write, 9013, 9017, 9025, 9070]
  /planted_modules:
    get:
      operationId: listPlantedModules
      x-addition: true
      summary: List planted modules
      tags: [Mutual TLS module]
      parameters:
        - *limit
        - *after_id
        - *after_alias
        - $ref: "#/components/parameters/Filter"
      responses:
        "200":
          description: A page of the list.
          content:
            application/json:
              schema:
                $ref: "#/components/schemas/PlantedModuleList"
      x-errors: [key, not_gateway, query, no_body, database, read, 232, 233, 244, 250, 9077, 9079]
"""

SCHEMAS = """    PlantedModule:
      description: The planted module of a route.
      type: object
      additionalProperties: false
      required: [enabled, labels, hops, begins_at]
      properties:
        enabled:
          description: Whether the module applies to traffic.
          type: boolean
        labels:
          description: Its labels.
          type: array
          maxItems: 1000
          uniqueItems: true
          items:
            type: string
        hops:
          description: How many hops.
          type: integer
          minimum: 0
          maximum: 4294967295
        begins_at:
          description: When it begins.
          type: [string, "null"]
          format: date-time
    PlantedModuleMembers:
      description: The members of a planted module.
      type: object
      properties:
        enabled:
          description: Whether the module applies to traffic.
          type: [boolean, "null"]
        labels:
          description: Its labels.
          type: [array, "null"]
          maxItems: 1000
          uniqueItems: true
          items:
            type: string
        hops:
          description: How many hops.
          type: [integer, "null"]
          minimum: 0
          maximum: 4294967295
        begins_at:
          description: When it begins.
          type: [string, "null"]
          format: date-time
    PlantedModulePut:
      description: The members of the module.
      allOf:
        - $ref: "#/components/schemas/PlantedModuleMembers"
      unevaluatedProperties: false
      properties:
        edge_id:
          description: Optional.
          type: [string, "null"]
        id:
          description: Optional.
          type: [string, "null"]
        module:
          description: The members of the module, if they are not beside it.
          anyOf:
            - $ref: "#/components/schemas/PlantedModuleMembers"
              unevaluatedProperties: false
            - type: "null"
    ListedPlantedModule:
      description: A planted module and its place.
      type: object
      additionalProperties: false
      required: [edge_id, id, uri, enabled, labels, hops, begins_at]
      properties:
        edge_id:
          $ref: "#/components/schemas/Identifier"
        id:
          $ref: "#/components/schemas/Identifier"
        uri:
          description: The address of the module.
          type: string
          format: uri
        enabled:
          $ref: "#/components/schemas/PlantedModule/properties/enabled"
        labels:
          $ref: "#/components/schemas/PlantedModule/properties/labels"
        hops:
          $ref: "#/components/schemas/PlantedModule/properties/hops"
        begins_at:
          $ref: "#/components/schemas/PlantedModule/properties/begins_at"
    PlantedModuleList:
      description: A page of the list of planted modules.
      type: object
      additionalProperties: false
      required: [planted_modules, uri, next_page_uri]
      properties:
        planted_modules:
          description: The modules, in byte order of their places.
          type: array
          maxItems: 100
          items:
            $ref: "#/components/schemas/ListedPlantedModule"
        uri:
          description: The address of the list, without a query.
          type: string
          format: uri
        next_page_uri:
          description: The next page.
          type: [string, "null"]
          format: uri
"""
