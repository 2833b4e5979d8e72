// A server on @modelcontextprotocol/server 2.x: every revision up to 2026-07-28, over stdio or streamable HTTP.
// Over HTTP the SDK's own entry serves the handshake revisions without sessions.

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

import { addTools, listen, options } from './tools.mjs';

const asked = options();
const request = ctx => ({
    signal: ctx.mcpReq.signal,
    token: ctx.mcpReq._meta?.progressToken,
    notify: notification => ctx.mcpReq.notify(notification),
    ask: (params, options) => ctx.mcpReq.elicitInput(params, options)
});
const make = () => addTools(new McpServer({ name: 'real-server2', version: '1.0.0' }), z, request);

if (asked.http === undefined) {
    serveStdio(make);
} else {
    listen(asked.http, toNodeHandler(createMcpHandler(make, { responseMode: asked.json ? 'json' : 'auto' })));
}
