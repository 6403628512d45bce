// Calls of functions that may call themselves. Operands: lower/calls.py.
//
// A call leaves two paths on the stack: the caller's, which continues after the call, and above it the `return` of the
// routine, where its diverged lanes meet. What the caller needs afterwards is kept in a Frame.
#include <cstring>

#include "lanes.hpp"
#include "machine.hpp"

namespace simt {

namespace {

// The numbers of a call.
class Table {
public:
    struct Passed {
        u32 here, there, bytes;  // offsets in the frames of the caller and the routine
    };

    Table(const Warp& warp, const Instruction& instruction) : from_(lanes_of<u32>(warp.registers, instruction.d)) {}
    u32 arguments() const { return from_[0]; }
    u32 results() const { return from_[1]; }
    u32 registers() const { return from_[2]; }
    Passed argument(u32 k) const { return passed(k); }
    Passed result(u32 k) const { return passed(arguments() + k); }
    const u32* saved(u32 k) const { return from_ + 3 + 3 * (arguments() + results()) + 2 * k; }  // slot, bytes

private:
    Passed passed(u32 k) const { return {from_[3 + 3 * k], from_[4 + 3 * k], from_[5 + 3 * k]}; }
    const u32* from_;
};

void drop_ended(WarpState& state) {  // calls whose lanes have all exited
    while (!state.frames.empty() && state.frames.back().depth >= state.stack.size()) {
        state.frames.pop_back();
    }
}

void copy_local(WarpState& state, u32 lane, u64 to, u64 from, u32 bytes) {
    const u64 own = u64(lane) * state.worker->launch->local_bytes;
    std::memcpy(state.local + own + to, state.local + own + from, bytes);
    if (state.local_states) {
        std::memcpy(state.local_states + own + to, state.local_states + own + from, bytes);
    }
}

void save_registers(const Warp& warp, const Table& table, u32 predicates, Frame& frame) {
    for (u32 k = 0; k < table.registers(); ++k) {
        const u8* from = warp.registers + table.saved(k)[0];
        frame.registers.insert(frame.registers.end(), from, from + LANES * table.saved(k)[1]);
    }
    frame.predicates.assign(warp.predicates, warp.predicates + predicates);
    frame.carry = warp.carry;
}

template <int BYTES>
void restore(u8* to, const u8* from, u32 lanes) {
    using Word = typename WordOf<BYTES>::type;
    blend(reinterpret_cast<Word*>(to), reinterpret_cast<const Word*>(from), reinterpret_cast<const Word*>(to), lanes);
}

void restore_registers(Warp& warp, const Table& table, const Frame& frame, u32 lanes) {
    const u8* from = frame.registers.data();
    for (u32 k = 0; k < table.registers(); ++k) {
        const u32 bytes = table.saved(k)[1];
        const auto move = bytes == 2 ? restore<2> : bytes == 4 ? restore<4> : bytes == 8 ? restore<8> : restore<16>;
        move(warp.registers + table.saved(k)[0], from, lanes);
        from += LANES * bytes;
    }
    for (size_t k = 0; k < frame.predicates.size(); ++k) {
        warp.predicates[k] = (warp.predicates[k] & ~lanes) | (frame.predicates[k] & lanes);
    }
    warp.carry = (warp.carry & ~lanes) | (frame.carry & lanes);
}

void enter(WarpState& state, const Instruction& instruction, const Table& table, u32 lane) {
    u64& base = lanes_of<u64>(state.warp.registers, instruction.a)[lane];
    const u64 caller = base, own = u64(lane) * state.worker->launch->local_bytes;
    base += instruction.b;
    std::memset(state.local + own + base, POISON, instruction.e);
    if (state.local_states) {
        std::memset(state.local_states + own + base, 0, instruction.e);
    }
    for (u32 k = 0; k < table.arguments(); ++k) {
        const Table::Passed one = table.argument(k);
        copy_local(state, lane, base + one.there, caller + one.here, one.bytes);
    }
}

}  // namespace

void call(WarpState& state, const Instruction& instruction, u32 lanes) {
    Warp& warp = state.warp;
    if (!lanes) {
        ++state.position;
        return;
    }
    drop_ended(state);
    const Launch& launch = *state.worker->launch;
    const u32 used = (state.frames.empty() ? 0 : state.frames.back().used) + instruction.c;
    if (used > launch.stack_bytes) {
        const u64 depth = state.frames.size() + 1;
        each_lane(lanes, [&](int lane) { fault(warp, instruction, FaultKind::stack_overflow, u32(lane), depth); });
        exit_lanes(state, lanes);
        return;
    }
    const Table table(warp, instruction);
    state.frames.push_back({&instruction, lanes, 0, state.stack.size(), used, {}, {}});
    save_registers(warp, table, launch.predicate_count, state.frames.back());
    each_lane(lanes, [&](int lane) { enter(state, instruction, table, u32(lane)); });
    state.stack.push_back({state.position + 1, state.reconverge, warp.active});
    state.stack.push_back({instruction.reconverge, NONE, lanes});
    state.position = instruction.target;
    state.reconverge = instruction.reconverge;
    warp.active = lanes;
}

void return_to_caller(WarpState& state) {
    Warp& warp = state.warp;
    drop_ended(state);
    const Frame& frame = state.frames.back();
    const u32 lanes = warp.active;
    warp.active = 0;  // the caller's path comes next
    const Instruction& instruction = *frame.call;
    const Table table(warp, instruction);
    u64* bases = lanes_of<u64>(warp.registers, instruction.a);
    each_lane(lanes, [&](int lane) {
        const u64 caller = bases[lane] - instruction.b;
        for (u32 k = 0; k < table.results(); ++k) {
            const Table::Passed one = table.result(k);
            copy_local(state, u32(lane), caller + one.here, bases[lane] + one.there, one.bytes);
        }
        bases[lane] = caller;
    });
    restore_registers(warp, table, frame, lanes);
    state.frames.pop_back();
}

}  // namespace simt
