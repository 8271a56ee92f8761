import { Conflict, NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { empty, ok } from '../../../core/reply.ts'
import { Envelope, Input, Type } from '../../../core/schema.ts'
import { ALWAYS_ON, ServiceStatus } from '../../../core/service-switch.ts'
import { ServiceKey } from './schemas.ts'

const ServicePath = Input({ serviceKey: ServiceKey })

export const listServices = operation({
  route: 'GET /api/services',
  summary: 'List services',
  access: 'public',
  returns: { 200: Envelope(Type.Array(Type.String())) },
  example: {},
  handle: ({ switches }) => ok('Services', switches.names()),
})

export const getServicesStatus = operation({
  route: 'GET /api/services/status',
  summary: 'Get the status of all services',
  access: 'public',
  returns: { 200: Envelope(Type.Array(ServiceStatus)) },
  example: {},
  handle: ({ switches }) => ok('Status of the services', switches.status()),
})

export const getServiceStatus = operation({
  route: 'GET /api/services/{serviceKey}/status',
  summary: 'Get the status of a service',
  access: 'public',
  path: ServicePath,
  returns: { 200: Envelope(ServiceStatus) },
  errors: [NotFound],
  example: { path: { serviceKey: 'streams' } },
  handle: ({ path, switches }) => ok('Status of the service', switches.statusOf(path.serviceKey)),
})

export const toggleService = operation({
  route: 'POST /api/services/{serviceKey}/toggle',
  summary: 'Switch a service on or off',
  description: `Without \`enabled\` the service is toggled. All nodes apply the change within a second: operations of a service that is off return 503 \`service_disabled\`, over REST and sockets, sockets get \`service.updated\`, and due jobs wait with the state \`held\`. Running jobs finish. When the service is switched on, its jobs continue, and no attempt is lost. Posts that are due while \`posts\` is off stay scheduled and say why. ${[...ALWAYS_ON].join(', ')} cannot be switched off.`,
  access: 'admin',
  path: ServicePath,
  body: Input({ enabled: Type.Optional(Type.Boolean()) }),
  bodyOptional: true,
  returns: { 200: null },
  errors: [NotFound, Conflict],
  example: { path: { serviceKey: 'streams' }, body: { enabled: true } },
  handle: async ({ path, body, switches }) => {
    await switches.toggle(path.serviceKey, body?.enabled)
    return empty()
  },
})
