// vprintf: the text of each lane goes to the launch's buffer, whole lanes at a time; what does not fit is left out.
// Arguments lie in memory as C++ passes them to "...": each at a multiple of its size of 4 or 8 bytes.
// Operands: a, b offsets in local memory of the addresses of format and arguments, d that of the result or NONE; c slot of
// the frame's offset, which is added to them.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "access.hpp"
#include "lanes.hpp"

using namespace simt;

namespace {

constexpr size_t LONGEST = 1 << 16;  // characters of a text or an argument
constexpr size_t LONGEST_FIELD = 999;

// The allocation or local memory that holds an address: what can be read from there on.
struct Bytes {
    const u8* begin = nullptr;
    u64 count = 0;

    template <class T>
    bool read(u64 offset, T& value) const {
        if (offset + sizeof(T) > count) {
            return false;
        }
        value = value_at<T>(begin + offset);
        return true;
    }
};

Bytes bytes_at(const Warp& warp, u32 lane, u64 address) {
    const Launch& launch = *warp.state->worker->launch;
    if (address >> WINDOW_SHIFT == LOCAL_WINDOW >> WINDOW_SHIFT) {
        const u64 offset = address - LOCAL_WINDOW;
        return offset < launch.local_bytes ? Bytes{local_at(warp, lane, offset), launch.local_bytes - offset} : Bytes{};
    }
    const Allocation* one = allocation_at(launch, address);
    return one ? Bytes{reinterpret_cast<const u8*>(address), one->end - address} : Bytes{};
}

std::string text_at(const Warp& warp, u32 lane, u64 address) {
    const Bytes bytes = bytes_at(warp, lane, address);
    const size_t most = least<u64>(bytes.count, LONGEST);
    return bytes.begin ? std::string(reinterpret_cast<const char*>(bytes.begin),
                                     strnlen(reinterpret_cast<const char*>(bytes.begin), most))
                       : "(null)";
}

// The arguments of one lane, in their order.
class Arguments {
public:
    explicit Arguments(const Bytes& bytes) : bytes_(bytes) {}

    template <class T>
    T next() {
        T value{};
        position_ = (position_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        bytes_.read(position_, value);
        position_ += sizeof(T);
        ++taken;
        return value;
    }

    s32 taken = 0;

private:
    Bytes bytes_;
    u64 position_ = 0;
};

template <class T>
std::string shown(const std::string& format, T value) {
    char text[2 * LONGEST_FIELD + 400];  // %f of a double has up to 309 digits before the point
    const int length = std::snprintf(text, sizeof(text), format.c_str(), value);
    return {text, length < 0 ? 0 : least<size_t>(size_t(length), sizeof(text) - 1)};
}

// One conversion: `start` ends with its letter, and has neither a length nor "*".
std::string converted(const Warp& warp, u32 lane, std::string start, bool wide, Arguments& arguments) {
    const char letter = start.back();
    switch (letter) {
        case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
            if (wide) {
                start.insert(start.size() - 1, "ll");
                return shown(start, arguments.next<long long>());
            }
            return shown(start, arguments.next<int>());
        case 'c':
            return shown(start, arguments.next<int>());
        case 'p':
            return shown(start, reinterpret_cast<void*>(arguments.next<u64>()));
        case 's':
            start.pop_back();
            if (start.size() > 1) {
                return shown(start + "s", text_at(warp, lane, arguments.next<u64>()).c_str());
            }
            return text_at(warp, lane, arguments.next<u64>());
        default:
            return shown(start, arguments.next<double>());
    }
}

bool is_in(const char* letters, char letter) {
    return letter && std::strchr(letters, letter);
}

std::string formatted(const Warp& warp, u32 lane, const std::string& format, Arguments& arguments) {
    std::string text;
    for (size_t at = 0; at < format.size();) {
        if (format[at] != '%' || at + 1 == format.size()) {
            text += format[at++];
            continue;
        }
        if (format[at + 1] == '%') {
            text += '%';
            at += 2;
            continue;
        }
        size_t end = at + 1, digits = 0;
        std::string start = "%";
        while (is_in("-+ #0123456789.", format[end]) && digits < 9) {
            start += format[end++];
            ++digits;
        }
        size_t field = 0, longest = 0;
        for (char letter : start) {
            field = letter >= '0' && letter <= '9' ? field * 10 + size_t(letter - '0') : 0;
            longest = most(longest, field);
        }
        size_t wide = 0;
        while (is_in("hlLjzt", format[end])) {
            wide += format[end++] != 'h';
        }
        if (!is_in("diuxXocpsfFeEgGaA", format[end]) || longest > LONGEST_FIELD) {
            text += format[at++];  // no conversion: as it is
            continue;
        }
        text += converted(warp, lane, start + format[end], wide > 0, arguments);
        at = end + 1;
    }
    return text;
}

void append(Launch& launch, const std::string& text) {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> guard(mutex);
    if (text.size() <= launch.printed_capacity - launch.printed_bytes) {
        std::memcpy(launch.printed + launch.printed_bytes, text.data(), text.size());
        launch.printed_bytes += text.size();
    }
}

}  // namespace

extern "C" void op_printf(Warp& warp, const Instruction& instruction, u32 lanes) {
    std::string text;
    each_lane(lanes, [&](int lane) {
        const u32 number = u32(lane);
        const u32 frame = u32(lanes_of<u64>(warp.registers, instruction.c)[lane]);
        const u64 format = read_local<u64>(warp, number, frame + instruction.a);
        Arguments arguments(bytes_at(warp, number, read_local<u64>(warp, number, frame + instruction.b)));
        text += formatted(warp, number, text_at(warp, number, format), arguments);
        if (instruction.d != NONE) {
            write_local(warp, number, frame + instruction.d, arguments.taken);
        }
    });
    append(*warp.state->worker->launch, text);
}
