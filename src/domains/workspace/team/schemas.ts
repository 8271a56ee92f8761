import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { ALL_SCOPES, BUILT_IN_ROLES, type BuiltInRole, type Scope } from '../../../core/scope.ts'
import { EmailInput, PICTURE_URL } from '../../identity/users/index.ts'
import { PresenceState } from '../../../core/presence-state.ts'

const BUILT_IN = Object.keys(BUILT_IN_ROLES) as [BuiltInRole, ...BuiltInRole[]]
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

const ScopeName = OneOf(ALL_SCOPES as [Scope, ...Scope[]])
const ScopeList = (description: string) =>
  Type.Array(ScopeName, { maxItems: ALL_SCOPES.length, uniqueItems: true, description })

/** The name of a built-in role, or the id of a custom role. */
const RoleId = Type.String({
  pattern: `^(${BUILT_IN.join('|')}|${UUID})$`,
  maxLength: 36,
  description: 'The `_id` of a role. A built-in role has its name as `_id`',
})
const RoleName = Text(1, 60, {
  description: 'Name of a role: owner, admin, editor, contributor, client, or a custom role of the workspace',
})
const Message = Text(1, 1_000, { description: 'A personal message that is sent with the invitation' })

export const TeamPath = Input({ workspaceId: Id })
export const MemberPath = Input({ workspaceId: Id, userId: Id })
export const KnownStreams = Type.Array(Id, {
  description:
    'Up to 100 streams, newest first, whose ingest keys are still valid and were visible to the member. Arm a stream to replace its keys',
})
export const RemovedMember = Type.Object({ streamIds: KnownStreams })
export const RolePath = Input({ workspaceId: Id, id: RoleId })
export const ItemPath = Input({ workspaceId: Id, id: Id })
export const TokenPath = Input({
  token: Type.String({ minLength: 1, maxLength: 100, description: 'The token from the link in the invitation' }),
})

export const ScopeCatalogue = named(
  'ScopeCatalogue',
  Type.Object({
    scopes: Type.Array(Type.Object({ scope: ScopeName, description: Type.String() })),
    roles: Type.Array(Type.Object({ _id: OneOf(BUILT_IN), name: OneOf(BUILT_IN), scopes: Type.Array(ScopeName) })),
  }),
)

const member = {
  ...ResourceBase,
  _id: Type.String({ ...Id, description: 'Id of the user' }),
  workspaceId: Id,
  name: Type.String({ description: 'Name of the user. Empty if they have not set one' }),
  email: Type.String({ description: 'Email address of the user' }),
  pictureUrl: Nullable(Type.String({ description: PICTURE_URL })),
  role: Type.String({ description: 'Name of the role' }),
  roleId: Type.String({ description: 'The `_id` of the role. A built-in role has its name as `_id`' }),
  scopes: Type.Array(ScopeName, {
    description: 'Scopes of the member: those of the role and groups, with the overrides applied',
  }),
  overrides: Type.Object(
    { granted: Type.Array(Type.String()), revoked: Type.Array(Type.String()) },
    { description: 'Scopes that the member has or lacks in addition to those of the role and groups' },
  ),
  groups: Type.Array(Type.Object({ _id: Id, name: Type.String() }), { description: 'Groups that the member is in' }),
  createdAt: Type.String({ ...Timestamp, description: 'When the member joined' }),
  version: Type.Integer({ description: 'Increases with every change of role or overrides. Use it in If-Match' }),
}

export const MemberState = named('MemberState', Type.Object(member))
export type MemberData = Static<typeof MemberState>

export const MemberView = named(
  'Member',
  Type.Object({
    ...member,
    presence: PresenceState,
    lastSeenAt: Nullable(
      Type.String({ ...Timestamp, description: 'When the member last had a socket open. Null while one is open' }),
    ),
  }),
)

export const MemberQuery = Input({
  ...pageFields,
  q: Type.Optional(Text(1, 100, { description: 'Part of a name or email address' })),
  roleId: Several(RoleId),
})

const Scopes = ScopeList(
  'The exact scopes of the member. Differences from the role and groups are stored as overrides. Omit it for an owner, who has all scopes',
)

export const MemberChange = Input(
  {
    role: Type.Optional(RoleName),
    roleId: Type.Optional(RoleId),
    scopes: Type.Optional(Nullable(Scopes)),
  },
  { minProperties: 1 },
)

export const NewInvitation = Input({
  email: EmailInput,
  role: Type.Optional(RoleName),
  roleId: Type.Optional(RoleId),
  scopes: Type.Optional(Scopes),
  message: Type.Optional(Message),
})

export const InvitationStatus = States('InvitationStatus', 'Status of an invitation', {
  open: 'Can be accepted or declined until `expiresAt`',
  expired: 'Was not answered in time. Resend it to reopen it',
  accepted: 'The invited user is a member',
  declined: 'The invited user declined',
  revoked: 'Was revoked by a member',
})
export type InvitationStatus = Static<typeof InvitationStatus>

export const InvitationView = named(
  'Invitation',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    email: Type.String(),
    role: Nullable(Type.String({ description: 'Null when the role was deleted after the invitation was closed' })),
    roleId: Nullable(Type.String()),
    scopes: Type.Array(ScopeName, { description: 'Scopes that the invited user gets' }),
    message: Nullable(Type.String()),
    status: InvitationStatus,
    inviter: Nullable(Type.Object({ _id: Id, name: Type.String(), email: Type.String() })),
    sentAt: Timestamp,
    expiresAt: Timestamp,
  }),
)
export type InvitationData = Static<typeof InvitationView>

export const InvitationQuery = Input({
  ...pageFields,
  status: Several(InvitationStatus, { description: 'Default: open and expired invitations' }),
})

/** What anyone with the link can see. */
export const InvitationPreview = named(
  'InvitationPreview',
  Type.Object({
    workspaceName: Type.String(),
    inviterName: Nullable(
      Type.String({ description: 'Name of the inviter, or their email address if they have no name' }),
    ),
    role: Type.String(),
    expiresAt: Timestamp,
  }),
)

export const MyInvitation = named(
  'MyInvitation',
  Type.Object({
    ...ResourceBase,
    _id: Type.String({ ...Id, description: 'Can be used instead of the token to accept or decline' }),
    workspaceId: Id,
    workspaceName: Type.String(),
    inviterName: Nullable(Type.String()),
    role: Type.String(),
    message: Nullable(Type.String()),
    expiresAt: Timestamp,
  }),
)

export const RoleView = named(
  'Role',
  Type.Object({
    ...ResourceBase,
    _id: Type.String({ description: 'A built-in role has its name as `_id`' }),
    name: Type.String({ description: 'Name of the role, unique in the workspace' }),
    builtIn: Type.Boolean({
      description: 'Whether the role is built in. Built-in roles are the same in every workspace and cannot be changed',
    }),
    scopes: Type.Array(ScopeName, { description: 'Scopes of the role' }),
    memberCount: Type.Integer({ description: 'Number of members with the role' }),
    version: Type.Integer({ description: 'Increases with every change. Use it in If-Match' }),
  }),
)
export type RoleData = Static<typeof RoleView>

const RoleScopes = ScopeList('Scopes of the role')

export const NewRole = Input({ name: Text(1, 60), scopes: RoleScopes })
export const RoleChange = Input(
  { name: Type.Optional(Text(1, 60)), scopes: Type.Optional(RoleScopes) },
  { minProperties: 1 },
)
export const RoleReplacement = Input({ replaceWith: Type.Optional(RoleId) })

export const GroupView = named(
  'Group',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    name: Type.String({ description: 'Name of the group' }),
    scopes: Type.Array(ScopeName, {
      description: 'Scopes that members of the group have in addition to those of their roles',
    }),
    memberIds: Type.Array(Id, { description: 'Ids of the members' }),
    version: Type.Integer({ description: 'Increases with every change. Use it in If-Match' }),
  }),
)
export type GroupData = Static<typeof GroupView>

const GroupScopes = ScopeList('Scopes that members of the group have in addition to those of their roles')
const MemberIds = Type.Array(Id, {
  maxItems: 500,
  uniqueItems: true,
  description: 'Ids of users who are members of the workspace',
})

export const NewGroup = Input({
  name: Text(1, 60),
  memberIds: MemberIds,
  scopes: Type.Optional(GroupScopes),
})
export const GroupChange = Input(
  {
    name: Type.Optional(Text(1, 60)),
    memberIds: Type.Optional(MemberIds),
    scopes: Type.Optional(GroupScopes),
  },
  { minProperties: 1 },
)
